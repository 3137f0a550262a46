#pragma once

namespace smemtune {

/// Returns how many cases of one kind a test checks: with sanitizers a tenth of the usual number,
/// because each takes ten times as long, and what sanitizers find shows in the first cases.
constexpr int repetitions(int usual) {
#ifdef SMEMTUNE_SANITIZED
  return (usual + 9) / 10;
#else
  return usual;
#endif
}

}  // namespace smemtune
