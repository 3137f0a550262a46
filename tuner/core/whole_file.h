#pragma once

#include <filesystem>
#include <string>

namespace smemtune {

/// Writes a file as a whole or not at all: a temporary file beside it, fsync, rename. A symbolic
/// link stays, and the file that it leads to is written. "-" is standard output. Throws InputError
/// when the place cannot be written; a file that was there then remains unchanged.
void write_whole_file(const std::filesystem::path& named, const std::string& text);

/// Throws InputError if write_whole_file() would throw now. For use before hours of work whose
/// result is to be written.
void check_writable(const std::filesystem::path& file);

/// Makes the name of `file` survive a loss of power, as fsync() does its contents. Some file
/// systems cannot do that.
void sync_folder_of(const std::filesystem::path& file);

}  // namespace smemtune
