#pragma once

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/driver.h"

#include <array>
#include <cstddef>

namespace smemtune::cuda {

/// Keeps a GPU at one kernel: while a batch of launches runs, the next one is queued. Launch after
/// launch works on another copy of the buffers, of which none is restored.
class RepeatedLaunches {
 public:
  /// `copies`: copies of the buffers that `bound` has. All arguments must outlive this.
  RepeatedLaunches(const Driver& driver, const BoundKernel& bound, std::size_t copies,
                   std::size_t batch, CUstream stream);

  /// Waits until a batch has ended, or for a millisecond. Returns how many launches have ended so
  /// far. Throws CudaError for a fault of the kernel, UnavailableError if it cannot be launched.
  std::size_t step();

 private:
  void enqueue();

  const Driver& driver_;
  const BoundKernel& bound_;
  std::size_t copies_;
  std::size_t batch_;
  CUstream stream_;
  std::array<Event, 2> ends_;  ///< Ends of the batches queued last.
  std::size_t queued_ = 0;     ///< Batches queued...
  std::size_t ended_ = 0;      ///< ... and ended so far.
};

}  // namespace smemtune::cuda
