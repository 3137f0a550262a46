#pragma once

#include "tuner/backend/cuda/nvml.h"
#include "tuner/backend/device_use.h"

#include <optional>
#include <string>

namespace smemtune::cuda {

/// Returns the use of the GPU with that UUID according to NVIDIA's management library (NVML);
/// nullopt if the library is missing or does not know the GPU. The library, whose name or path is
/// `library`, is opened for the call, creates no CUDA context, and disturbs nobody.
std::optional<DeviceUse> gpu_use(const std::string& uuid,
                                 const std::string& library = kNvmlLibrary);

}  // namespace smemtune::cuda
