#include "tuner/backend/cuda/devices.h"

#include "tuner/backend/cuda/driver.h"
#include "tuner/core/error.h"
#include "tuner/core/names.h"
#include "tuner/core/text.h"

#include <cuda_runtime_api.h>

#include <climits>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

namespace smemtune::cuda {
namespace {

namespace fs = std::filesystem;

// Returns the UUID as nvidia-smi prints it: `GPU-` and groups of 8, 4, 4, 4 and 12 digits.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits;
  }
  return text;
}

// Returns 13.0 for 13000.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_version() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  return version_text(version);
}

std::string runtime_version() {
  int version = 0;
  check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  return version_text(version);
}

// CUDA 13 removed several fields of cudaDeviceProp; attributes remain.
int attribute(cudaDeviceAttr name, int index) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, index), "cudaDeviceGetAttribute");
  return value;
}

Device device_at(int index) {
  cudaDeviceProp properties = {};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  Device device;
  device.kind = DeviceKind::gpu;
  device.name = properties.name;
  device.uuid = uuid_text(properties.uuid);
  device.compute_major = properties.major;
  device.compute_minor = properties.minor;
  device.architecture = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
  device.sm_count = properties.multiProcessorCount;
  device.warp_size = properties.warpSize;
  device.max_threads_per_block = properties.maxThreadsPerBlock;
  device.max_threads_per_sm = properties.maxThreadsPerMultiProcessor;
  device.max_blocks_per_sm = properties.maxBlocksPerMultiProcessor;
  device.registers_per_block = properties.regsPerBlock;
  device.registers_per_sm = properties.regsPerMultiprocessor;
  device.shared_bytes_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlock);
  device.max_shared_bytes_per_block = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  device.shared_bytes_per_sm = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor);
  device.reserved_shared_bytes_per_block =
      static_cast<std::int64_t>(properties.reservedSharedMemPerBlock);
  device.constant_bytes = static_cast<std::int64_t>(properties.totalConstMem);
  for (std::size_t i = 0; i < 3; ++i) {
    device.max_block_dim[i] = properties.maxThreadsDim[i];
    device.max_grid_dim[i] = properties.maxGridSize[i];
  }
  device.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  device.l2_bytes = properties.l2CacheSize;
  device.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  device.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, index);
  device.sm_clock_khz = attribute(cudaDevAttrClockRate, index);
  device.ecc = properties.ECCEnabled != 0;
  device.driver_version = driver_version();
  device.runtime_version = runtime_version();
  return device;
}

// Returns why cudaGetDeviceCount failed, for people.
std::string why_no_device(cudaError_t code) {
  const std::string words =
      std::string(cudaGetErrorString(code)) + " (CUDA error " + std::to_string(code) + ")";
  if (!nvidia_device_present()) return "this machine has no NVIDIA GPU: " + words;
  if (code == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is missing or too old: it supports CUDA " + driver_version() +
           ", this program needs " + runtime_version();
  }
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (code == cudaErrorNoDevice && visible != nullptr) {
    return "no GPU is visible: CUDA_VISIBLE_DEVICES is \"" + std::string(visible) + "\"";
  }
  return "the NVIDIA driver does not work: " + words;
}

std::string first_word(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

bool has_entries(const fs::path& folder) {
  std::error_code error;
  return fs::directory_iterator(folder, error) != fs::directory_iterator() && !error;
}

}  // namespace

GpusHere find_gpus() {
  // CUDA reads this when it starts, which it does here. Modules are then loaded whole, not function
  // by function at the first launch, which would fall into a timed sample.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    return {.gpus = {}, .why_none = why_no_device(code)};
  }
  if (count == 0) return {.gpus = {}, .why_none = why_no_device(cudaErrorNoDevice)};
  GpusHere here;
  for (int index = 0; index < count; ++index) here.gpus.push_back(device_at(index));
  return here;
}

std::vector<Device> cuda_devices() {
  GpusHere here = find_gpus();
  if (!here.gpus.empty()) return std::move(here.gpus);
  throw UnavailableError(here.why_none +
                         "; stored results, --dry-run and the CPU device work without");
}

int select_device(const std::vector<Device>& devices, const std::string& choice) {
  if (choice.empty() && !devices.empty()) return 0;
  const int number = number_in<int>(choice).value_or(INT_MAX);
  // `4090` is part of a name; no machine has a hundred GPUs.
  const bool is_index = number < 100;
  const auto count = static_cast<int>(devices.size());
  if (is_index && number >= 0 && number < count) return number;
  std::vector<std::string> names;
  std::vector<std::string> uuids;  // UUIDs that begin with the choice.
  for (const Device& device : devices) {
    names.push_back(device.name);
    if (lower_case(device.uuid).starts_with(lower_case(choice))) uuids.push_back(device.uuid);
  }
  const std::string meant =
      is_index ? "" : meant_name("device", choice, uuids.empty() ? names : uuids);
  for (int i = 0; i < count && !is_index; ++i) {
    const Device& device = devices[static_cast<std::size_t>(i)];
    if (uuids.size() == 1 ? device.uuid == uuids.front() : device.name == meant) return i;
  }
  std::string here;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    here += "\n  " + std::to_string(i) + "  " + devices[i].name + "  " + devices[i].uuid;
  }
  throw UnavailableError("no GPU is \"" + choice + "\" by index, UUID or name; this machine has:" +
                         (here.empty() ? " none" : here));
}

bool nvidia_device_present(const fs::path& root) {
  std::error_code error;
  // nvidiactl proves nothing: if root has the driver's library, the library creates that file
  // itself.
  for (fs::directory_iterator file(root / "dev", error), end; !error && file != end;
       file.increment(error)) {
    int number = 0;
    const std::string name = file->path().filename().string();
    if (std::sscanf(name.c_str(), "nvidia%d", &number) == 1) return true;
  }
  if (fs::exists(root / "dev/dxg", error) &&
      fs::exists(root / "usr/lib/wsl/lib/libcuda.so.1", error)) {
    return true;  // A GPU of Windows, seen from WSL.
  }
  if (has_entries(root / "proc/driver/nvidia/gpus")) return true;
  for (fs::directory_iterator pci(root / "sys/bus/pci/devices", error), end; !error && pci != end;
       pci.increment(error)) {
    // 10de is NVIDIA; class 03.. is a display controller (their audio and bridges are not GPUs).
    if (first_word(pci->path() / "vendor") == "0x10de" &&
        first_word(pci->path() / "class").starts_with("0x03")) {
      return true;
    }
  }
  return false;
}

}  // namespace smemtune::cuda
