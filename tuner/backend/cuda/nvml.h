#pragma once

#include "tuner/backend/device_use.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace smemtune::cuda {

/// The parts of NVIDIA's management library (NVML) that are used here; its header is not part of
/// every toolkit. Names, numbers and layouts are those of its API reference; they do not change.
/// The library creates no CUDA context, and nothing here sets anything.
struct Nvml {
  using Code = int;
  static constexpr Code kSuccess = 0;
  static constexpr Code kInsufficientSize = 7;
  static constexpr unsigned long long kNotAvailable = ~0ULL;
  static constexpr unsigned int kSmClock = 1;

  using Device = struct NvmlDeviceTag*;

  struct Process {  // nvmlProcessInfo_v2_t, also used by version 3 of the functions.
    unsigned int id;
    unsigned long long memory_bytes;
    unsigned int gpu_instance;
    unsigned int compute_instance;
  };

  struct Utilization {
    unsigned int gpu_percent;
    unsigned int memory_percent;
  };

  std::shared_ptr<void> library;
  Code (*init)() = nullptr;
  Code (*shutdown)() = nullptr;
  Code (*device_by_uuid)(const char*, Device*) = nullptr;
  Code (*compute_processes)(Device, unsigned int*, Process*) = nullptr;
  Code (*utilization)(Device, Utilization*) = nullptr;
  // Any of the following is null in a library that lacks it.
  Code (*energy_mj)(Device, unsigned long long*) = nullptr;
  Code (*power_mw)(Device, unsigned int*) = nullptr;
  Code (*power_limit_mw)(Device, unsigned int*) = nullptr;
  Code (*clock_mhz)(Device, unsigned int, unsigned int*) = nullptr;
  Code (*clock_reasons)(Device, unsigned long long*) = nullptr;
};

/// The library's file name.
constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// Opens the library of that name or path, and does not initialize it; nullopt if it is missing or
/// is another one.
std::optional<Nvml> open_nvml(const std::string& library);

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
