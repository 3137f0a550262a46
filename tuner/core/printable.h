#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace smemtune {

/// Text of a file for a message: without control characters, which a terminal would obey, and
/// shortened to about `max_bytes`.
std::string printable(std::string_view text, std::size_t max_bytes = 80);

/// The printable text between quotation marks.
std::string quote(std::string_view text, std::size_t max_bytes = 80);

}  // namespace smemtune
