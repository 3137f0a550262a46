#pragma once

#include <filesystem>
#include <string>

namespace smemtune {

/// Writes a file whole or not at all: a temporary beside it, fsync, rename. A symbolic link stays,
/// and the file that it leads to is written. "-" is standard output. Throws InputError when the
/// place cannot be written; a file that was there is then as it was.
void write_whole_file(const std::filesystem::path& named, const std::string& text);

/// Throws InputError where write_whole_file() would now: before hours go into what is to be
/// written.
void check_writable(const std::filesystem::path& file);

/// Makes the name of `file` survive a loss of power, as fsync() does its contents. Some file
/// systems cannot.
void sync_folder_of(const std::filesystem::path& file);

}  // namespace smemtune
