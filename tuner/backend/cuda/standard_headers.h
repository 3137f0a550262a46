#pragma once

#include <span>

namespace smemtune::cuda {

struct StandardHeader {
  const char* name;
  const char* text;
};

/// The C library's headers, which NVRTC has not: it declares their functions that device code may
/// call, printf and assert among them, by itself. A source that names them compiles as it is.
std::span<const StandardHeader> standard_headers();

}  // namespace smemtune::cuda
