#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace smemtune::cuda {

/// A compiler's log as it may be stored and printed: printable_lines() in which a NUL is a newline,
/// at most `max_bytes` long, with a last line that says so where text was cut off.
std::string readable_text(std::string_view text, std::size_t max_bytes = std::size_t{64} * 1024);

}  // namespace smemtune::cuda
