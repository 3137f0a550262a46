#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace smemtune {

/// A regular file that a user names, open for reading. Refuses a FIFO, whose opening would wait for
/// its writer, a device, a folder, a loop of links, and a file that is too large.
class InputFile {
 public:
  /// Opens the file. Throws InputError naming it.
  explicit InputFile(const std::filesystem::path& file, std::uintmax_t max_bytes = UINTMAX_MAX);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile(InputFile&&) = delete;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  /// Returns the size in bytes that the file had when it was opened; 0 for files of /proc.
  std::uintmax_t size() const { return size_; }

  /// Reads the next bytes and returns how many: fewer than fit `into` only at the end of the file.
  /// Throws InputError if the file cannot be read or has become too large.
  std::size_t read(std::span<char> into);

  /// Returns the descriptor, which the caller must close. No other function may be called
  /// afterwards.
  int release();

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_size(const std::string& bytes) const;

  std::filesystem::path file_;
  std::uintmax_t max_bytes_;
  int descriptor_;
  std::uintmax_t size_ = 0;
  std::uintmax_t read_ = 0;
};

/// Returns the contents of a file. Throws InputError as InputFile does.
std::string read_text(const std::filesystem::path& file, std::uintmax_t max_bytes);

/// Returns the first line of a file, such as those of /proc; empty if it cannot be read.
std::string first_line_of_file(const std::filesystem::path& file);

}  // namespace smemtune
