#pragma once

#include "tuner/backend/cpu/kernel_abi.h"
#include "tuner/backend/cpu/module.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/reasons.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
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

/// A faulty memory access, as seen by the thread that made it:
/// `reads 4 bytes at byte 128 of tile, which has 128`.
struct AccessFault {
  Reason reason;
  std::string detail;
};

/// Returns the coordinates as text, `(1, 2, 0)`.
std::string coordinates(std::int64_t x, std::int64_t y, std::int64_t z);

/// Returns the coordinates of the thread with number `linear` in the block.
std::string thread_coordinates(unsigned linear, const Dim3& block);

/// The shared memory of one OS thread, with a record of which thread accessed what. Finds accesses
/// outside of variables, reads of what the block never wrote, and races: accesses to the same bytes
/// by two threads, at least one of them a write and not both atomic, with no barrier between them.
/// Writes of two threads are a race only if one is atomic, because threads may write the same
/// value.
class SharedMemory {
 public:
  SharedMemory();

  abi::Range range() const { return {.begin = memory_.begin(), .bytes = kSharedBytes}; }

  void begin_block(const SharedLayout& layout, std::size_t dynamic_bytes, const Dim3& block);

  /// Notes that all threads have met at a barrier.
  void pass_barrier() { ++epoch_; }
  /// Notes that all lanes of an operation of that warp have met.
  void pass_warp_barrier(unsigned warp) { ++warp_epochs_[warp]; }

  std::optional<AccessFault> access(unsigned thread, const void* address, std::size_t bytes,
                                    abi::Access kind);

 private:
  struct Cell;

  bool find_variable(std::size_t offset);
  void note_read(Cell& cell, unsigned thread, std::uint8_t mask) const;
  bool note_plain_read(Cell& cell, unsigned thread) const;
  AccessFault overrun(std::size_t offset, std::size_t bytes, abi::Access kind) const;
  std::string wrote(const Cell& cell) const;
  /// `what_others_did` is like `thread (1, 0, 0) wrote`.
  static AccessFault race(const SharedLayout::Variable& variable, std::size_t offset,
                          abi::Access kind, const std::string& what_others_did);
  bool is_ordered(unsigned thread, unsigned other, std::uint16_t warp_epoch) const;

  MappedMemory memory_;
  MappedMemory cells_;
  const SharedLayout* layout_ = nullptr;
  std::size_t dynamic_bytes_ = 0;
  SharedLayout::Variable variable_;  ///< The variable of the last access.
  Dim3 block_ = {1, 1, 1};
  std::uint32_t first_epoch_ = 0;  ///< First epoch of this block; epochs are never used again.
  std::uint32_t epoch_ = 0;
  std::array<std::uint16_t, 32> warp_epochs_ = {};
};

}  // namespace smemtune::cpu
