#include "tuner/backend/cuda/repeated_launches.h"

#include "tuner/core/error.h"

#include <chrono>
#include <thread>

namespace smemtune::cuda {

RepeatedLaunches::RepeatedLaunches(const Driver& driver, const BoundKernel& bound,
                                   std::size_t copies, std::size_t batch, CUstream stream)
    : driver_(driver),
      bound_(bound),
      copies_(copies),
      batch_(batch),
      stream_(stream),
      ends_{make_event(), make_event()} {}

std::size_t RepeatedLaunches::step() {
  while (queued_ - ended_ < ends_.size()) enqueue();
  const cudaError_t state = cudaEventQuery(ends_[ended_ % ends_.size()].get());
  if (state == cudaErrorNotReady) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } else {
    check(state, "cudaEventQuery");
    ++ended_;
    enqueue();
  }
  return ended_ * batch_;
}

void RepeatedLaunches::enqueue() {
  for (std::size_t i = 0; i < batch_; ++i) {
    const std::size_t copy = (queued_ * batch_ + i) % copies_;
    if (const auto failure = bound_.enqueue(driver_, copy, stream_)) {
      throw UnavailableError(failure->detail);
    }
  }
  check(cudaEventRecord(ends_[queued_ % ends_.size()].get(), stream_), "cudaEventRecord");
  ++queued_;
}

}  // namespace smemtune::cuda
