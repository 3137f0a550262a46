#pragma once

#include "tuner/backend/device_use.h"

#include <optional>
#include <string>

namespace smemtune::cuda {

/// What NVIDIA's management library (NVML) knows of the GPU with that UUID; nullopt where the
/// library is missing or does not know the GPU. It is opened for the call, makes no CUDA context,
/// and disturbs nobody. `library`: its name or path.
std::optional<DeviceUse> gpu_use(const std::string& uuid,
                                 const std::string& library = "libnvidia-ml.so.1");

}  // namespace smemtune::cuda
