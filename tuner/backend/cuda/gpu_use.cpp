#include "tuner/backend/cuda/gpu_use.h"

#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <vector>

namespace smemtune::cuda {
namespace {

// The parts of NVML that are used here; its header is not part of every toolkit. Names, numbers and
// layouts are those of its API reference; they do not change.
using NvmlCode = int;
constexpr NvmlCode kSuccess = 0;
constexpr NvmlCode kInsufficientSize = 7;
constexpr unsigned long long kNotAvailable = ~0ULL;

using NvmlDevice = struct NvmlDeviceTag*;

struct NvmlProcess {  // nvmlProcessInfo_v2_t, also used by version 3 of the functions.
  unsigned int id;
  unsigned long long memory_bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

struct NvmlUtilization {
  unsigned int gpu_percent;
  unsigned int memory_percent;
};

struct Closer {
  void operator()(void* library) const noexcept { dlclose(library); }
};

struct Nvml {
  std::unique_ptr<void, Closer> library;
  NvmlCode (*init)() = nullptr;
  NvmlCode (*shutdown)() = nullptr;
  NvmlCode (*device_by_uuid)(const char*, NvmlDevice*) = nullptr;
  NvmlCode (*compute_processes)(NvmlDevice, unsigned int*, NvmlProcess*) = nullptr;
  NvmlCode (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
};

template <typename Function>
bool fetch(Nvml& nvml, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(nvml.library.get(), name));
  return function != nullptr;
}

std::optional<Nvml> open_nvml(const std::string& library) {
  Nvml nvml;
  nvml.library.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!nvml.library) return std::nullopt;
  const bool complete =
      fetch(nvml, "nvmlInit_v2", nvml.init) && fetch(nvml, "nvmlShutdown", nvml.shutdown) &&
      fetch(nvml, "nvmlDeviceGetHandleByUUID", nvml.device_by_uuid) &&
      fetch(nvml, "nvmlDeviceGetUtilizationRates", nvml.utilization) &&
      (fetch(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.compute_processes) ||
       fetch(nvml, "nvmlDeviceGetComputeRunningProcesses_v2", nvml.compute_processes));
  if (!complete) return std::nullopt;
  return nvml;
}

std::vector<DeviceProcess> read_processes(const Nvml& nvml, NvmlDevice device) {
  std::vector<NvmlProcess> found(16);
  auto count = static_cast<unsigned int>(found.size());
  NvmlCode code = nvml.compute_processes(device, &count, found.data());
  if (code == kInsufficientSize) {
    found.resize(count + 16);  // More processes may come meanwhile.
    count = static_cast<unsigned int>(found.size());
    code = nvml.compute_processes(device, &count, found.data());
  }
  if (code != kSuccess || count > found.size()) return {};
  found.resize(count);
  std::vector<DeviceProcess> processes;
  for (const NvmlProcess& process : found) {
    DeviceProcess& added = processes.emplace_back();
    added.id = static_cast<pid_t>(process.id);
    if (process.memory_bytes != kNotAvailable) {
      added.memory_bytes = static_cast<std::int64_t>(process.memory_bytes);
    }
  }
  return processes;
}

}  // namespace

std::optional<DeviceUse> gpu_use(const std::string& uuid, const std::string& library) {
  const std::optional<Nvml> nvml = open_nvml(library);
  if (!nvml || nvml->init() != kSuccess) return std::nullopt;
  std::optional<DeviceUse> use;
  NvmlDevice device = nullptr;
  if (nvml->device_by_uuid(uuid.c_str(), &device) == kSuccess) {
    use.emplace();
    use->processes = read_processes(*nvml, device);
    NvmlUtilization utilization = {};
    if (nvml->utilization(device, &utilization) == kSuccess) {
      use->busy_percent = static_cast<int>(utilization.gpu_percent);
    }
  }
  nvml->shutdown();
  return use;
}

}  // namespace smemtune::cuda
