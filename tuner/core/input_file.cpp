#include "tuner/core/input_file.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace smemtune {

InputFile::InputFile(const std::filesystem::path& file, std::uintmax_t max_bytes)
    : file_(file),
      max_bytes_(max_bytes),
      // O_NONBLOCK, because opening a FIFO would otherwise wait for its writer.
      descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (descriptor_ < 0) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status = {};
  std::string why;
  if (fstat(descriptor_, &status) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    why = S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file";
  } else {
    size_ = static_cast<std::uintmax_t>(status.st_size);
  }
  // The destructor does not run if a constructor throws.
  if (!why.empty() || size_ > max_bytes_) close(descriptor_);
  if (!why.empty()) refuse(why);
  if (size_ > max_bytes_) refuse_size(std::to_string(size_));
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void InputFile::refuse(const std::string& why) const {
  throw InputError(printable(file_.string(), 500) + ": " + why);
}

void InputFile::refuse_size(const std::string& bytes) const {
  refuse("has " + bytes + " bytes, at most " + std::to_string(max_bytes_) + " are read");
}

std::size_t InputFile::read(std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::read(descriptor_, into.data() + done, into.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  read_ += done;
  if (read_ > max_bytes_) refuse_size("more than " + std::to_string(max_bytes_));
  return done;
}

int InputFile::release() { return std::exchange(descriptor_, -1); }

std::string read_text(const std::filesystem::path& file, std::uintmax_t max_bytes) {
  InputFile input(file, max_bytes);
  std::string text;
  std::string piece(std::size_t{1} << 16, '\0');
  for (;;) {
    const std::size_t count = input.read(piece);
    text.append(piece, 0, count);
    if (count < piece.size()) return text;
  }
}

std::string first_line_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

}  // namespace smemtune
