#include "tuner/backend/cuda/gpu_use.h"

#include <cstdint>
#include <vector>

namespace smemtune::cuda {
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

}  // namespace smemtune::cuda
