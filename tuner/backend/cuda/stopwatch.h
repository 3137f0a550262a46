#pragma once

#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/handles.h"
#include "tuner/core/outcome.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace smemtune::cuda {

/// Average clock of the multiprocessors between two sets of stamps, in MHz; 0 when no
/// multiprocessor has both. Slot i of both belongs to one multiprocessor.
double clock_mhz(std::span<const ClockStamp> before, std::span<const ClockStamp> after);

/// Launches that one timed stretch may queue: well below the 1024 entries of a stream's queue.
constexpr int kMaxPendingLaunches = 512;

/// One timed stretch of work.
struct Interval {
  double elapsed_ms = 0;
  double sm_clock_mhz = 0;  ///< 0: not known.
  bool late = false;        ///< The host was too slow to queue the work: the time means nothing.
};

/// Times work on a stream without the latency of launching it: a kernel holds the stream until all
/// of the work is queued. (nvbench does so, too.)
class Stopwatch {
 public:
  Stopwatch(const DeviceKernels& kernels, CUstream stream, int sm_count, std::int64_t l2_bytes);

  /// Overwrites twice the L2 cache, so that it holds nothing of any buffer. Its lines are left
  /// dirty, as a kernel's own would be: what the next kernel evicts is as much as it leaves behind.
  void flush_l2() const;

  /// `enqueue` puts the work on the stream; it must neither wait nor queue more than
  /// kMaxPendingLaunches before it calls release(), or the stream's queue fills up while it is
  /// held. `afterwards` puts on the stream what is to follow without being timed.
  Outcome<Interval> time(const std::function<std::optional<Failure>()>& enqueue,
                         const std::function<void()>& afterwards = {});

  /// For work that is more than the stream's queue may hold: lets it begin while it is queued.
  void release();

  /// Keeps the GPU busy until five windows in a row agree on the clock within 1 %, for at most two
  /// seconds. Returns the clock in MHz.
  double warm_up();

 private:
  Interval interval() const;

  const DeviceKernels& kernels_;
  CUstream stream_;
  std::size_t flush_bytes_;
  DeviceMemory flush_;
  DeviceMemory stamps_;
  PinnedMemory mapped_;
  Event start_;
  Event stop_;
  std::uint32_t ticket_ = 0;
};

}  // namespace smemtune::cuda
