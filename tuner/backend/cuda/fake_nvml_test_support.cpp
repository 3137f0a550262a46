// A library with NVML's functions, for the tests: the GPU `GPU-crowded` has 20 processes,
// `GPU-busy` one whose memory is hidden, `GPU-idle` none. Of `GPU-crowded` energy and power are not
// known; `GPU-busy` has no energy counter; the one of `GPU-idle` moves with every second reading.

#include <cstring>

namespace {

int initialized = 0;

struct Process {
  unsigned int id;
  unsigned long long memory_bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

struct Gpu {
  const char* uuid;
  unsigned int processes;
  unsigned int busy_percent;
  bool has_power;
  bool has_energy;
};

const Gpu kGpus[] = {{"GPU-crowded", 20, 100, false, false},
                     {"GPU-busy", 1, 87, true, false},
                     {"GPU-idle", 0, 0, true, true}};

constexpr int kNotSupported = 3;  // NVML_ERROR_NOT_SUPPORTED

unsigned long long readings = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  ++initialized;
  return 0;
}

int nvmlShutdown() {
  --initialized;
  return 0;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, const Gpu** device) {
  if (initialized != 1) return 1;
  for (const Gpu& gpu : kGpus) {
    if (std::strcmp(gpu.uuid, uuid) != 0) continue;
    *device = &gpu;
    return 0;
  }
  return 6;  // NVML_ERROR_NOT_FOUND
}

int nvmlDeviceGetComputeRunningProcesses_v3(const Gpu* device, unsigned int* count,
                                            Process* processes) {
  const unsigned int room = *count;
  *count = device->processes;
  if (room < device->processes) return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
  for (unsigned int i = 0; i < device->processes; ++i) {
    const bool hidden = device->processes == 1;
    processes[i] = {1000 + i, hidden ? ~0ULL : 1048576ULL * (i + 1), ~0U, ~0U};
  }
  return 0;
}

int nvmlDeviceGetUtilizationRates(const Gpu* device, unsigned int* percent) {
  percent[0] = device->busy_percent;
  percent[1] = 0;
  return 0;
}

int nvmlDeviceGetTotalEnergyConsumption(const Gpu* device, unsigned long long* millijoules) {
  if (!device->has_energy) return kNotSupported;
  *millijoules = 1000000 + 500 * (++readings / 2);
  return 0;
}

int nvmlDeviceGetPowerUsage(const Gpu* device, unsigned int* milliwatts) {
  if (!device->has_power) return kNotSupported;
  *milliwatts = 250000;
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(const Gpu* device, unsigned int* milliwatts) {
  if (!device->has_power) return kNotSupported;
  *milliwatts = 700000;
  return 0;
}

int nvmlDeviceGetClockInfo(const Gpu* /*device*/, unsigned int clock, unsigned int* mhz) {
  if (clock != 1) return kNotSupported;  // NVML_CLOCK_SM
  *mhz = 1500;
  return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(const Gpu* device, unsigned long long* reasons) {
  *reasons = device->processes > 0 ? 0x4 : 0;  // nvmlClocksThrottleReasonSwPowerCap
  return 0;
}

}  // extern "C"
