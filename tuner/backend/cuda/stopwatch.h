#pragma once

#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/driver.h"
#include "tuner/core/outcome.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace smemtune::cuda {

/// Returns the average clock of the multiprocessors between two sets of stamps, in MHz; 0 if no
/// multiprocessor has both. Slot i of both belongs to one multiprocessor.
double clock_mhz(std::span<const ClockStamp> before, std::span<const ClockStamp> after);

/// Most launches that one timed stretch may queue: well below the 1024 entries of a stream's queue.
constexpr int kMaxPendingLaunches = 512;

/// The result of one timed stretch of work.
struct Interval {
  double elapsed_ms = 0;
  double sm_clock_mhz = 0;  ///< 0 when not known.
  bool late = false;  ///< True if the host was too slow to queue the work: the time means nothing.
};

/// Times work on a stream without the latency of launching it: a kernel holds the stream until all
/// of the work is queued. (nvbench does the same.)
class Stopwatch {
 public:
  Stopwatch(const DeviceKernels& kernels, CUstream stream, int sm_count, std::int64_t l2_bytes);

  /// Overwrites twice the L2 cache, so that it holds nothing of any buffer. The cache lines are
  /// left dirty, as a kernel would leave its own, so that the next kernel evicts as much as it
  /// leaves behind.
  void flush_l2() const;

  /// Times the work that `enqueue` puts on the stream; it must neither wait nor queue more than
  /// kMaxPendingLaunches before it calls release(), or the stream's queue fills up while the stream
  /// is held. `afterwards` puts the work on the stream that follows without being timed.
  Outcome<Interval> time(const std::function<std::optional<Failure>()>& enqueue,
                         const std::function<void()>& afterwards = {});

  /// Lets the work begin while the rest is still being queued. For more work than the stream's
  /// queue may hold.
  void release();

  /// Keeps the GPU busy until five windows in a row agree on the clock within 1 %, for at most two
  /// seconds. Returns the clock in MHz.
  double warm_up();

 private:
  Interval interval();

  const DeviceKernels& kernels_;
  CUstream stream_;
  std::size_t flush_bytes_;
  DeviceMemory flush_;
  DeviceMemory stamps_;
  PinnedMemory host_stamps_;
  PinnedMemory mapped_;
  CUdeviceptr flag_;
  CUdeviceptr timed_out_;
  Event start_;
  Event stop_;
  std::uint32_t ticket_ = 0;
  std::uint64_t last_ns_ = 0;  ///< Time of the latest stamp of earlier stretches.
};

}  // namespace smemtune::cuda
