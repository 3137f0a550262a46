#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace smemtune::cuda {

/// Returns a compiler's log as it may be stored and printed: printable_lines() in which a NUL is a
/// newline, at most `max_bytes` long. If text was cut off, a last line says so.
std::string readable_text(std::string_view text, std::size_t max_bytes = std::size_t{64} * 1024);

}  // namespace smemtune::cuda
