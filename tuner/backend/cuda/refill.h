#pragma once

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/handles.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace smemtune::cuda {

/// Puts buffers into their state before a launch: contents or poison, and guard zones around them.
/// One kernel fills all buffers that were added.
class Refiller {
 public:
  Refiller(const DeviceKernels& kernels, CUstream stream) : kernels_(kernels), stream_(stream) {}

  /// Adds a copy of a buffer, with contents drawn anew for `key` if the buffer can be redrawn; 0:
  /// with its initial contents.
  void add(const DeviceBuffer& buffer, std::size_t copy, std::uint64_t key);
  void add(const BoundKernel::Scratch& scratch, std::size_t copy);

  /// Puts the filling on the stream, and forgets what was added.
  void run();

 private:
  const DeviceKernels& kernels_;
  CUstream stream_;
  std::vector<Refill> refills_;
  std::size_t room_ = 0;
  DeviceMemory there_;
};

}  // namespace smemtune::cuda
