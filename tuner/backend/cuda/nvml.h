#pragma once

#include <memory>
#include <optional>
#include <string>

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

}  // namespace smemtune::cuda
