#pragma once

#include "tuner/backend/cuda/driver.h"
#include "tuner/core/kernel_binding.h"

#include <array>

namespace smemtune::cuda {

/// One turn of a launch in the driver's form. Contains pointers into itself, so it can be neither
/// copied nor moved.
class LaunchConfig {
 public:
  LaunchConfig(const LaunchShape& launch, const Repetition& turn, CUstream stream);
  LaunchConfig(const LaunchConfig&) = delete;
  LaunchConfig& operator=(const LaunchConfig&) = delete;

  /// Returns true if every number fits into the driver's types.
  bool is_narrow() const { return is_narrow_; }
  const CUlaunchConfig& get() const { return config_; }

  /// Launches the kernel. Returns CUDA_ERROR_INVALID_VALUE if the numbers are too large.
  CUresult launch(const Driver& driver, CUfunction function, void** parameters) const;

 private:
  CUlaunchConfig config_ = {};
  std::array<CUlaunchAttribute, 3> attributes_ = {};
  bool is_narrow_ = true;
};

/// Sets how much of the memory shared with the L1 cache a function prefers as shared memory, in
/// percent; -1: the driver's choice.
CUresult set_carveout(const Driver& driver, CUfunction function, std::int64_t percent);

}  // namespace smemtune::cuda
