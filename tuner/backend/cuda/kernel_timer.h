#pragma once

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/stopwatch.h"
#include "tuner/backend/launcher.h"

#include <cstdint>
#include <optional>

namespace smemtune::cuda {

/// Times kernels on one stream, at a clock that is neither dropping nor warming up.
class KernelTimer {
 public:
  /// `driver` and `kernels` must outlive it.
  KernelTimer(const Driver& driver, const DeviceKernels& kernels, CUstream stream,
              const Device& device);

  /// `kernel` is the one that is bound. Throws UnavailableError where the host cannot keep up.
  Outcome<TimeReport> time(CudaKernel& kernel, BoundKernel& bound, const TimeRequest& request);

 private:
  struct Sampling;  // How often a kernel is launched, and on what.
  class Series;     // The samples of one request.

  Sampling plan(BoundKernel& bound, const TimeRequest& request, int launches) const;
  std::optional<Failure> settle(CudaKernel& kernel, const BoundKernel& bound) const;
  Outcome<Interval> sample(const BoundKernel& bound, const TimeRequest& request,
                           const Sampling& sampling);
  Outcome<TimeReport> time_launches(CudaKernel& kernel, const BoundKernel& bound,
                                    const TimeRequest& request);
  double expected_clock_mhz(const CudaKernel& kernel) const;
  void pause(double gap_ms);

  const Driver& driver_;
  CUstream stream_;
  std::int64_t l2_bytes_;
  Stopwatch stopwatch_;
  double reference_clock_mhz_ = 0;  ///< The highest seen; 0 before the warm-up.
  double busy_ms_ = 0;              ///< Timed work since the last pause.
};

}  // namespace smemtune::cuda
