#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace smemtune {

/// The whole of a regular file. Throws InputError naming the file when it is missing, no regular
/// file or longer than `max_bytes`.
std::string read_text(const std::filesystem::path& file, std::size_t max_bytes);

}  // namespace smemtune
