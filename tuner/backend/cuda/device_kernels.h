#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/backend/element_rule.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// Size of the guard zones before and after each buffer, which no kernel may write.
constexpr std::int64_t kGuardBytes = 4096;

/// Stands for no element.
constexpr std::uint64_t kNone = ~std::uint64_t{0};

/// The result of comparing a buffer, as the device writes it.
struct Comparison {
  struct Kind {
    std::uint64_t first = kNone;  ///< Lowest index.
    std::uint64_t count = 0;
  };
  Kind unwritten;  ///< Elements that still have the poison.
  Kind not_finite;
  Kind mismatch;
  /// Bits of a double >= 0, which are ordered as doubles are.
  std::uint64_t max_absolute_bits = 0;
  std::uint64_t max_relative_bits = 0;
};

/// A check of bytes, as the device reads it: that a buffer equals another one, where `same_as` is
/// set, else that its guard zones have the pattern of `salt`. Buffers begin at multiples of 8.
struct ByteCheck {
  CUdeviceptr data = 0;
  CUdeviceptr same_as = 0;
  std::int64_t bytes = 0;
  std::int64_t bytes_after = 0;  ///< Size of the guard zone behind the data.
  std::uint32_t salt = 0;
};

/// The result of a ByteCheck, as the device writes it.
struct ByteDifference {
  std::int64_t first = INT64_MAX;  ///< Lowest offset from the data's beginning.
  std::uint64_t count = 0;
};

/// A multiprocessor's clock and the GPU's timer, read together, as the device writes them.
struct ClockStamp {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;  ///< 0 if this multiprocessor has not written.
};

/// A buffer to be filled, as the device reads it. fresh_data.h describes the contents.
struct Refill {
  CUdeviceptr to = 0;
  CUdeviceptr from = 0;  ///< Initial contents; 0: poison.
  std::int64_t bytes = 0;
  std::int64_t bytes_after = 0;  ///< Size of the guard zone behind the data.
  std::int64_t offset = 0;
  double low = 0;
  double high = 0;
  std::uint32_t noise = 0;
  std::uint32_t salt = 0;
  std::int32_t element_bytes = 0;  ///< 0 if neither offset nor noise applies.
  std::int32_t poison = 0;         ///< Value of every byte.
};

/// How elements are compared.
struct CompareRule {
  double absolute = 0;
  double relative = 0;
  double ulps = 0;         ///< Units in the last place, which is that of a type with this many...
  int digits = 0;          ///< ... digits behind the binary point...
  int least_exponent = 0;  ///< ... and this least exponent (LastPlace).
  int poison = -1;         ///< Byte that filled the buffer before; -1 if none did.
  int nan_agrees = 0;      ///< 1 if NaN agrees with NaN.
};

/// This project's own kernels: they check the results of tuned kernels, and time them. Pointers are
/// the device's.
class DeviceKernels {
 public:
  /// `compiled`: the kernels, from compile_device_kernels(); their first launch waits for them, and
  /// throws what compiling them has thrown.
  DeviceKernels(const Driver& driver, std::vector<std::future<CompiledKernel>> compiled,
                int sm_count);

  /// Returns false while draw() would have to wait for the compiler.
  bool can_draw() const;

  /// Sets elements `begin` to `end` - 1 of a buffer as the rule gives them.
  void draw(CUstream stream, CUdeviceptr buffer, std::int64_t begin, std::int64_t end,
            ScalarType type, const ElementRule& rule) const;

  /// Fills `count` buffers as the Refills at `refills` describe, and writes a pattern, which
  /// depends on their salt, before and after each.
  void refill(CUstream stream, CUdeviceptr refills, int count, std::int64_t largest_bytes) const;

  /// Sets `to` to apply_mask(mask, 0, from). Both are written and read in words of 8 bytes.
  void apply_mask(CUstream stream, CUdeviceptr to, CUdeviceptr from, std::int64_t bytes,
                  std::uint64_t mask) const;

  /// Sets element i of `to` to element at[i] of `from`, for i below `count`; `at`: 64-bit integers.
  void gather(CUstream stream, CUdeviceptr to, CUdeviceptr from, CUdeviceptr at, std::int64_t count,
              int element_bytes) const;

  /// Makes the `count` ByteChecks at `checks`, each with a ByteDifference at `found`.
  void check_bytes(CUstream stream, CUdeviceptr checks, int count, std::int64_t largest_bytes,
                   CUdeviceptr found) const;

  /// Compares elements. `expected` is kept under `mask`, unless that is 0; where it is 0 itself, all
  /// elements are compared with 0. `found` is a Comparison.
  void compare(CUstream stream, ScalarType type, CUdeviceptr actual, CUdeviceptr expected,
               std::uint64_t mask, std::int64_t elements, const CompareRule& rule,
               CUdeviceptr found) const;

  /// Keeps the stream from going on until the host writes `ticket` or more to *flag, or for
  /// `timeout_ns`; in the latter case sets *timed_out to `ticket`. Both are mapped memory.
  void block(CUstream stream, CUdeviceptr flag, CUdeviceptr timed_out, std::uint32_t ticket,
             std::uint64_t timeout_ns) const;

  /// Makes every multiprocessor that runs a block write its ClockStamp to stamps[its number modulo
  /// `slots`].
  void stamp(CUstream stream, CUdeviceptr stamps, std::uint32_t slots) const;

  /// Keeps all multiprocessors busy for `nanoseconds`.
  void spin(CUstream stream, std::uint64_t nanoseconds, CUdeviceptr sink) const;

 private:
  struct Blocks {
    int x = 1;
    int y = 1;
  };
  Blocks rows(int count, std::int64_t largest_bytes) const;
  std::future<CompiledKernel>& program_of(const std::string& entry) const;
  CUfunction function(const std::string& entry) const;
  template <typename... Arguments>
  void launch(const char* entry, Blocks blocks, int threads, CUstream stream,
              Arguments... arguments) const;

  Driver driver_;
  int sm_count_;
  /// Programs of kernels; without a state once their `functions_` are known.
  mutable std::vector<std::future<CompiledKernel>> compiled_;
  mutable std::vector<Module> modules_;
  mutable std::map<std::string, CUfunction> functions_;
};

/// Compiles the kernels for `architecture` in threads of their own, as that takes longer than making
/// a context. The futures throw UnavailableError if they do not compile.
std::vector<std::future<CompiledKernel>> compile_device_kernels(
    const std::shared_ptr<Compiler>& compiler, const std::string& architecture);

/// Returns the kernels' source, device_kernels.cu.
const char* device_kernels_source();

/// Returns the requests that compile these kernels.
std::vector<CompileRequest> device_kernels_requests(const std::string& architecture);

}  // namespace smemtune::cuda
