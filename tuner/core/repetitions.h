#pragma once

namespace smemtune {

/// Of how many cases of one kind a test makes sure: with sanitizers a tenth of the usual number,
/// because each takes ten times as long, and what sanitizers find shows in the first.
constexpr int repetitions(int usual) {
#ifdef SMEMTUNE_SANITIZED
  return (usual + 9) / 10;
#else
  return usual;
#endif
}

}  // namespace smemtune
