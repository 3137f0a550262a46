#include "tuner/backend/cuda/nvml.h"

#include <dlfcn.h>

namespace smemtune::cuda {
namespace {

template <typename Function>
bool fetch(const Nvml& nvml, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(nvml.library.get(), name));
  return function != nullptr;
}

}  // namespace

std::optional<Nvml> open_nvml(const std::string& library) {
  Nvml nvml;
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return std::nullopt;
  nvml.library.reset(opened, [](void* one) { dlclose(one); });
  const bool complete =
      fetch(nvml, "nvmlInit_v2", nvml.init) && fetch(nvml, "nvmlShutdown", nvml.shutdown) &&
      fetch(nvml, "nvmlDeviceGetHandleByUUID", nvml.device_by_uuid) &&
      fetch(nvml, "nvmlDeviceGetUtilizationRates", nvml.utilization) &&
      (fetch(nvml, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.compute_processes) ||
       fetch(nvml, "nvmlDeviceGetComputeRunningProcesses_v2", nvml.compute_processes));
  if (!complete) return std::nullopt;
  fetch(nvml, "nvmlDeviceGetTotalEnergyConsumption", nvml.energy_mj);
  fetch(nvml, "nvmlDeviceGetPowerUsage", nvml.power_mw);
  fetch(nvml, "nvmlDeviceGetEnforcedPowerLimit", nvml.power_limit_mw);
  fetch(nvml, "nvmlDeviceGetClockInfo", nvml.clock_mhz);
  // Newer drivers have the same under another name.
  if (!fetch(nvml, "nvmlDeviceGetCurrentClocksEventReasons", nvml.clock_reasons)) {
    fetch(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.clock_reasons);
  }
  return nvml;
}

}  // namespace smemtune::cuda
