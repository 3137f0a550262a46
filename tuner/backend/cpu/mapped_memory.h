#pragma once

#include "tuner/core/error.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <utility>

namespace smemtune::cpu {

/// Zeroed pages from the system, allocated when they are first touched.
class MappedMemory {
 public:
  /// Throws UnavailableError.
  explicit MappedMemory(std::size_t bytes) : bytes_(bytes) {
    void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) {
      throw UnavailableError("mapping " + std::to_string(bytes) +
                             " bytes: " + std::strerror(errno));
    }
    begin_ = static_cast<unsigned char*>(begin);
  }
  ~MappedMemory() {
    if (begin_ != nullptr) munmap(begin_, bytes_);
  }
  MappedMemory(MappedMemory&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_) {}
  MappedMemory& operator=(MappedMemory&&) = delete;

  unsigned char* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }

 private:
  unsigned char* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace smemtune::cpu
