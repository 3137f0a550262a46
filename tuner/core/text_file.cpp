#include "tuner/core/text_file.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace smemtune {
namespace {

/// Closes a descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int value() const { return value_; }

 private:
  int value_;
};

}  // namespace

std::string read_text(const std::filesystem::path& file, std::size_t max_bytes) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(printable(file.string(), 500) + ": " + why);
  };
  // O_NONBLOCK: opening a FIFO would wait for its writer.
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (descriptor.value() < 0) refuse(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status = {};
  if (fstat(descriptor.value(), &status) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
  std::string text;
  std::vector<char> buffer(65'536);
  while (text.size() <= max_bytes) {
    const ssize_t count = read(descriptor.value(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::string("cannot be read: ") + std::strerror(errno));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  refuse("is longer than " + std::to_string(max_bytes) + " bytes");
  return {};
}

}  // namespace smemtune
