#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace smemtune {

/// Returns whether this is a file that only this user can have written, in a folder of which the same
/// holds.
bool is_private_file(const std::filesystem::path& file);

/// Reads a file that only this user can have written, in a folder of which the same holds; nullopt
/// for any other, and for one of more than a GiB.
std::optional<std::vector<std::uint8_t>> read_private(const std::filesystem::path& file);

/// Writes the contents atomically to each of the files, which lie in one folder: to a temporary
/// there, then by a rename. Creates the folder for this user alone; one that others may write to is
/// not used. Errors are ignored: a file that could not be written stays as it was.
void write_private(const std::vector<std::filesystem::path>& files, std::string_view contents);

}  // namespace smemtune
