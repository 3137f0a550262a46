#include "tuner/backend/cuda/launch.h"

#include <utility>

namespace smemtune::cuda {

LaunchConfig::LaunchConfig(const LaunchShape& launch, const Repetition& turn, CUstream stream) {
  const auto narrow = [this](std::int64_t number) {
    is_narrow_ = is_narrow_ && std::in_range<unsigned>(number);
    return is_narrow_ ? static_cast<unsigned>(number) : 0;
  };
  config_.gridDimX = narrow(turn.grid[0]);
  config_.gridDimY = narrow(turn.grid[1]);
  config_.gridDimZ = narrow(turn.grid[2]);
  config_.blockDimX = narrow(turn.block[0]);
  config_.blockDimY = narrow(turn.block[1]);
  config_.blockDimZ = narrow(turn.block[2]);
  config_.sharedMemBytes = narrow(turn.dynamic_shared_bytes);
  config_.hStream = stream;
  config_.attrs = attributes_.data();
  if (launch.cooperative) {
    CUlaunchAttribute& cooperative = attributes_[config_.numAttrs++];
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  // The first launch has none before it to overlap with.
  if (launch.programmatic.value_or(0) != 0 && turn.turn > 0) {
    CUlaunchAttribute& programmatic = attributes_[config_.numAttrs++];
    programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    programmatic.value.programmaticStreamSerializationAllowed = 1;
  }
  if (launch.blocks_per_cluster() == 1) return;
  CUlaunchAttribute& cluster = attributes_[config_.numAttrs++];
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim.x = narrow(launch.cluster[0]);
  cluster.value.clusterDim.y = narrow(launch.cluster[1]);
  cluster.value.clusterDim.z = narrow(launch.cluster[2]);
}

CUresult set_carveout(const Driver& driver, CUfunction function, std::int64_t percent) {
  return driver.func_set_attribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                   static_cast<int>(percent));
}

CUresult LaunchConfig::launch(const Driver& driver, CUfunction function, void** parameters) const {
  if (!is_narrow_) return CUDA_ERROR_INVALID_VALUE;
  return driver.launch_kernel_ex(&config_, function, parameters, nullptr);
}

}  // namespace smemtune::cuda
