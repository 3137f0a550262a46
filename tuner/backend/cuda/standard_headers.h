#pragma once

#include <span>

namespace smemtune::cuda {

struct StandardHeader {
  const char* name = nullptr;
  const char* text = nullptr;
  /// True if the header is for the kernel's source, not for the toolkit's headers.
  bool only_where_named = false;
};

/// Returns the standard library's headers, which NVRTC lacks. NVRTC itself declares the C library's
/// functions that device code may call, printf and assert among them; these headers bring them into
/// std. A source that includes them compiles unchanged; those that come from libcu++ need a toolkit
/// that has it.
std::span<const StandardHeader> standard_headers();

}  // namespace smemtune::cuda
