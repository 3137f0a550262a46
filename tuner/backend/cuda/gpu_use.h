#pragma once

#include "tuner/backend/cuda/nvml.h"
#include "tuner/backend/device_use.h"

#include <cstddef>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace smemtune::cuda {

/// Returns the use of the GPU with that UUID according to NVIDIA's management library (NVML);
/// nullopt if the library is missing or does not know the GPU. The library, whose name or path is
/// `library`, is opened for the call, creates no CUDA context, and disturbs nobody.
std::optional<DeviceUse> gpu_use(const std::string& uuid,
                                 const std::string& library = kNvmlLibrary);

/// Returns how many of the processes are neither `self` nor another child of its parent, such as a
/// worker that waits to take its place. One of them is `self`, whatever its id is called outside of
/// a container.
std::size_t other_processes(const std::vector<DeviceProcess>& processes, pid_t self, pid_t parent);

}  // namespace smemtune::cuda
