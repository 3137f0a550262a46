#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace smemtune {

/// Writes all of the bytes to a descriptor. Returns false, and errno says why, if that fails.
bool write_all(int descriptor, const void* data, std::size_t bytes);

/// Takes the parts of a text, in their order.
using TextSink = std::function<void(std::string_view)>;

/// Writes a file as a whole or not at all: a temporary file beside it, fsync, rename. A symbolic
/// link stays, and the file that it leads to is written. "-" and "/dev/stdout" are standard output; a
/// device or a pipe is written as it is. Throws InputError when the place cannot be written; a file
/// that was there then remains unchanged.
void write_whole_file(const std::filesystem::path& named, const std::string& text);

/// Writes what `write` gives in parts, in the same way. If `write` throws, a file stays as it was;
/// standard output, a device or a pipe keeps the parts that it got.
void write_whole_file(const std::filesystem::path& named,
                      const std::function<void(const TextSink&)>& write);

/// Throws InputError if write_whole_file() would throw now. For use before hours of work whose
/// result is to be written.
void check_writable(const std::filesystem::path& file);

/// Makes the name of `file` survive a loss of power, as fsync() does its contents. Some file
/// systems cannot do that.
void sync_folder_of(const std::filesystem::path& file);

}  // namespace smemtune
