#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/cuda/handles.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <map>
#include <string>

namespace smemtune::cuda {

/// Bytes before and after each buffer that no kernel may write.
constexpr std::int64_t kGuardBytes = 4096;

/// No element.
constexpr std::uint64_t kNone = ~std::uint64_t{0};

/// What a comparison of a buffer found. As the device writes it.
struct Comparison {
  struct Kind {
    std::uint64_t first = kNone;  ///< The lowest index.
    std::uint64_t count = 0;
  };
  Kind unwritten;  ///< Still as the buffer was poisoned.
  Kind not_finite;
  Kind mismatch;
  std::uint64_t max_absolute_bits = 0;  ///< Of a double >= 0; ordered as doubles are.
  std::uint64_t max_relative_bits = 0;
};

/// What a look at bytes found: guard zones, or two buffers that should be equal. As the device
/// writes it.
struct ByteDifference {
  std::int64_t first = INT64_MAX;  ///< The lowest offset.
  std::uint64_t count = 0;
};

/// A multiprocessor's clock and the GPU's timer, read together. As the device writes it.
struct ClockStamp {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;  ///< 0: this multiprocessor has not written.
};

/// A buffer to be filled, as the device reads it. What it is filled with is in fresh_data.h.
struct Refill {
  CUdeviceptr to = 0;
  CUdeviceptr from = 0;  ///< Initial contents; 0: poison.
  std::int64_t bytes = 0;
  std::int64_t bytes_after = 0;  ///< Of the guard zone behind them.
  std::int64_t offset = 0;
  double low = 0;
  double high = 0;
  std::uint32_t noise = 0;
  std::uint32_t salt = 0;
  std::int32_t element_bytes = 0;  ///< 0: neither offset nor noise.
  std::int32_t poison = 0;         ///< Every byte.
};

/// How elements are compared.
struct CompareRule {
  double absolute = 0;
  double relative = 0;
  double ulps = 0;         ///< Units in the last place, which is that of a type with so many...
  int digits = 0;          ///< ... digits behind the binary point...
  int least_exponent = 0;  ///< ... and this least exponent (LastPlace).
  int poison = -1;         ///< With which bytes the buffer was filled before; -1: it was not.
};

/// Our own kernels: they check what the tuned ones did, and time them. Pointers are the device's.
class DeviceKernels {
 public:
  /// Compiles them for `architecture`.
  DeviceKernels(const Driver& driver, Compiler& compiler, const std::string& architecture,
                int sm_count);

  /// Fills `count` buffers, of which `refills` points to the Refills, and writes a pattern, which
  /// depends on their salt, before and after each.
  void refill(CUstream stream, CUdeviceptr refills, int count, std::int64_t largest_bytes) const;

  /// `to` becomes apply_mask(mask, 0, from). Both are written and read in words of 8 bytes.
  void apply_mask(CUstream stream, CUdeviceptr to, CUdeviceptr from, std::int64_t bytes,
                  std::uint64_t mask) const;

  /// Looks for the pattern; offsets count from `data`. `found` is a ByteDifference.
  void check_guards(CUstream stream, CUdeviceptr data, std::int64_t bytes, std::int64_t bytes_after,
                    std::uint32_t salt, CUdeviceptr found) const;

  /// `found` is a ByteDifference. The buffers begin at multiples of 8.
  void compare_bytes(CUstream stream, CUdeviceptr left, CUdeviceptr right, std::int64_t bytes,
                     CUdeviceptr found) const;

  /// `found` is a Comparison. `expected` is kept under `mask`, unless that is 0.
  void compare(CUstream stream, ScalarType type, CUdeviceptr actual, CUdeviceptr expected,
               std::uint64_t mask, std::int64_t elements, const CompareRule& rule,
               CUdeviceptr found) const;

  /// Keeps the stream from going on until the host writes `ticket` or more to *flag, or for
  /// `timeout_ns`; then *timed_out becomes `ticket`. Both are mapped memory.
  void block(CUstream stream, CUdeviceptr flag, CUdeviceptr timed_out, std::uint32_t ticket,
             std::uint64_t timeout_ns) const;

  /// Every multiprocessor that runs a block writes its ClockStamp to stamps[its number modulo
  /// `slots`].
  void stamp(CUstream stream, CUdeviceptr stamps, std::uint32_t slots) const;

  /// Keeps all multiprocessors busy for `nanoseconds`.
  void spin(CUstream stream, std::uint64_t nanoseconds, CUdeviceptr sink) const;

 private:
  struct Blocks {
    int x = 1;
    int y = 1;
  };
  template <typename... Arguments>
  void launch(CUfunction function, Blocks blocks, int threads, CUstream stream,
              Arguments... arguments) const;

  Driver driver_;
  int sm_count_;
  Module module_;
  std::map<std::string, CUfunction, std::less<>> functions_;
};

/// What is compiled for them.
CompileRequest device_kernels_request(const std::string& architecture);

}  // namespace smemtune::cuda
