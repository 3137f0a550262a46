#pragma once

#include <span>

namespace smemtune::cuda {

struct StandardHeader {
  const char* name;
  const char* text;
  bool only_where_named = false;  ///< It is for the kernel's source, not for the toolkit's headers.
};

/// The standard library's headers, which NVRTC has not: it declares the C library's functions that
/// device code may call, printf and assert among them, by itself, and these bring them into std. A
/// source that names them compiles as it is, those that come from libcu++ where the toolkit has it.
std::span<const StandardHeader> standard_headers();

}  // namespace smemtune::cuda
