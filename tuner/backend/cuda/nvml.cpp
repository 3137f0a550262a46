#include "tuner/backend/cuda/nvml.h"

#include "tuner/core/library_function.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <vector>

namespace smemtune::cuda {
namespace {

template <typename Function>
bool fetch(const Nvml& nvml, const char* name, Function& function) {
  return find_function(nvml.library.get(), name, function);
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

namespace {

std::vector<DeviceProcess> read_processes(const Nvml& nvml, Nvml::Device device) {
  std::vector<Nvml::Process> found(16);
  auto count = static_cast<unsigned int>(found.size());
  Nvml::Code code = nvml.compute_processes(device, &count, found.data());
  if (code == Nvml::kInsufficientSize) {
    found.resize(count + 16);  // More processes may come meanwhile.
    count = static_cast<unsigned int>(found.size());
    code = nvml.compute_processes(device, &count, found.data());
  }
  if (code != Nvml::kSuccess || count > found.size()) return {};
  found.resize(count);
  std::vector<DeviceProcess> processes;
  for (const Nvml::Process& process : found) {
    DeviceProcess& added = processes.emplace_back();
    added.id = static_cast<pid_t>(process.id);
    if (process.memory_bytes != Nvml::kNotAvailable) {
      added.memory_bytes = static_cast<std::int64_t>(process.memory_bytes);
    }
  }
  return processes;
}

/// Returns the parent of a process; 0 if it is not known here.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  const std::string wanted = "PPid:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(wanted)) return std::atoi(line.c_str() + wanted.size());
  }
  return 0;
}

}  // namespace

std::optional<DeviceUse> gpu_use(const std::string& uuid, const std::string& library) {
  const std::optional<Nvml> nvml = open_nvml(library);
  if (!nvml || nvml->init() != Nvml::kSuccess) return std::nullopt;
  std::optional<DeviceUse> use;
  Nvml::Device device = nullptr;
  if (nvml->device_by_uuid(uuid.c_str(), &device) == Nvml::kSuccess) {
    use.emplace();
    use->processes = read_processes(*nvml, device);
    Nvml::Utilization utilization = {};
    if (nvml->utilization(device, &utilization) == Nvml::kSuccess) {
      use->busy_percent = static_cast<int>(utilization.gpu_percent);
    }
  }
  nvml->shutdown();
  return use;
}

std::size_t other_processes(const std::vector<DeviceProcess>& processes, pid_t self, pid_t parent) {
  const auto is_self = [&](const DeviceProcess& one) { return one.id == self; };
  if (processes.empty()) return 0;
  if (std::ranges::none_of(processes, is_self)) return processes.size() - 1;
  return static_cast<std::size_t>(std::ranges::count_if(processes, [&](const DeviceProcess& one) {
    return !is_self(one) && parent_of(one.id) != parent;
  }));
}

}  // namespace smemtune::cuda
