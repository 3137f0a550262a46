#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace smemtune {

/// What a user names, open for reading: a regular file. A FIFO, whose opening would wait for its
/// writer, a device, a folder and a loop of links are refused, and a file that is too large.
class InputFile {
 public:
  /// Throws InputError naming the file.
  explicit InputFile(const std::filesystem::path& file, std::uintmax_t max_bytes = UINTMAX_MAX);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile(InputFile&&) = delete;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  /// What it had when it was opened, in bytes; 0 for those of /proc.
  std::uintmax_t size() const { return size_; }

  /// The next bytes; how many: fewer than fit `into` only at the end of the file. Throws InputError
  /// where it cannot be read, or has become too large.
  std::size_t read(std::span<char> into);

  /// The descriptor, which is the caller's to close from now on; nothing else may be called.
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

/// The whole file. Throws InputError as InputFile does.
std::string read_text(const std::filesystem::path& file, std::uintmax_t max_bytes);

}  // namespace smemtune
