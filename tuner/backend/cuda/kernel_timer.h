#pragma once

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/buffer_check.h"
#include "tuner/backend/cuda/stopwatch.h"
#include "tuner/backend/launcher.h"

#include <optional>

namespace smemtune::cuda {

/// Times kernels on one stream, at a clock that is neither dropping nor warming up, and compares
/// what timed launches write.
class KernelTimer {
 public:
  /// All arguments must outlive the timer.
  KernelTimer(const Driver& driver, const DeviceKernels& kernels, Refiller& refiller,
              Findings& findings, CUstream stream, const Device& device);

  /// Finds the clock under load, unless it is known.
  void warm_up();

  /// Times `kernel`, which is bound to the buffers of `workload`. Throws UnavailableError if the
  /// host cannot keep up.
  Outcome<TimeReport> time(CudaKernel& kernel, BoundKernel& bound, const PreparedWorkload& workload,
                           const TimeRequest& request);

  /// Puts on the stream what removes the buffers from the L2 cache.
  void flush_l2() const { stopwatch_.flush_l2(); }

 private:
  struct Sampling;  // The launches of a sample.
  struct Subject;   // A kernel, its workload and the request to time it.
  class Series;     // The samples of one request.
  struct Compared;  // The launch of a sample that is compared, and its data.

  Sampling plan(BoundKernel& bound, int launches) const;
  std::optional<Failure> settle(CudaKernel& kernel, const BoundKernel& bound);
  std::optional<Compared> choose(const Subject& subject, const Sampling& sampling) const;
  void refill(const BoundKernel& bound, const Sampling& sampling,
              const std::optional<Compared>& compared);
  Outcome<Interval> sample(const Subject& subject, const Sampling& sampling,
                           std::optional<Mismatch>& mismatch);
  Outcome<TimeReport> time_launches(const Subject& subject);
  double expected_clock_mhz(const CudaKernel& kernel) const;
  void pause(double gap_ms);

  const Driver& driver_;
  const DeviceKernels& kernels_;
  Refiller& refiller_;
  Findings& findings_;
  CUstream stream_;
  Stopwatch stopwatch_;
  double reference_clock_mhz_ = 0;  ///< Highest clock seen; 0 before the warm-up.
  double busy_ms_ = 0;              ///< Timed work since the last pause.
};

}  // namespace smemtune::cuda
