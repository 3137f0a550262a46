#include "tuner/backend/cuda/driver.h"

#include "tuner/core/reasons.h"
#include "tuner/core/usable_cores.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace smemtune::cuda {
namespace {

// Version of the functions: that of CUDA 11.8. Later toolkits' headers declare these the same.
constexpr unsigned kVersion = 11080;

template <typename Function>
void fetch(const char* name, Function& function, [[maybe_unused]] unsigned version = kVersion) {
  void* address = nullptr;
#if CUDART_VERSION >= 12050
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, nullptr);
#elif CUDART_VERSION >= 12000
  const cudaError_t code = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, nullptr);
#else
  const cudaError_t code = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault);
#endif
  if (code != cudaSuccess || address == nullptr) {
    throw UnavailableError(
        std::string("the NVIDIA driver is missing or has no ") + name +
        (code == cudaSuccess ? std::string() : std::string(": ") + cudaGetErrorString(code)));
  }
  function = reinterpret_cast<Function>(address);
}

}  // namespace

std::string Driver::text(CUresult code) const {
  const char* words = nullptr;
  if (get_error_string(code, &words) != CUDA_SUCCESS || words == nullptr) return "unknown error";
  return words;
}

void Driver::check(CUresult code, const char* call) const {
  if (code != CUDA_SUCCESS) throw CudaError(static_cast<int>(code), call, text(code));
}

Driver fetch_driver() {
  Driver driver;
  fetch("cuGetErrorString", driver.get_error_string);
  fetch("cuModuleLoadData", driver.module_load_data);
  fetch("cuModuleUnload", driver.module_unload);
  fetch("cuModuleGetFunction", driver.module_get_function);
  fetch("cuModuleGetGlobal", driver.module_get_global);
  fetch("cuCtxGetCurrent", driver.ctx_get_current);
  fetch("cuFuncGetAttribute", driver.func_get_attribute);
  fetch("cuFuncSetAttribute", driver.func_set_attribute);
  fetch("cuOccupancyMaxActiveBlocksPerMultiprocessor", driver.occupancy_max_active_blocks);
  fetch("cuLaunchKernel", driver.launch_kernel);
  fetch("cuLaunchKernelEx", driver.launch_kernel_ex);
  fetch("cuOccupancyMaxActiveClusters", driver.occupancy_max_active_clusters);
#if CUDA_VERSION >= 12000
  try {
    fetch("cuTensorMapEncodeTiled", driver.tensor_map_encode_tiled, 12000);
  } catch (const UnavailableError&) {
    driver.tensor_map_encode_tiled = nullptr;  // Needed only by kernels that take tensor maps.
  }
#endif
  return driver;
}

namespace {

struct Fault {
  int code;
  Reason reason;
};

// The errors for which driver_types.h says "the process must be terminated", as far as kernels
// cause them.
constexpr auto kFaults = std::to_array<Fault>({{226, {Status::runtime, "contained_fault"}},
                                               {700, {Status::runtime, "illegal_address"}},
                                               {702, {Status::runtime, "launch_timeout"}},
                                               {710, {Status::runtime, "assert"}},
                                               {714, {Status::runtime, "hardware_stack"}},
                                               {715, {Status::runtime, "illegal_instruction"}},
                                               {716, {Status::runtime, "misaligned_address"}},
                                               {717, {Status::runtime, "invalid_address_space"}},
                                               {718, {Status::runtime, "invalid_pc"}},
                                               {719, {Status::runtime, "launch_failure"}},
                                               {721, {Status::runtime, "tensor_memory_leak"}}});

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kOutOfResources = 701;

}  // namespace

std::optional<Failure> kernel_fault(int code, const std::string& message) {
  if (code == kOutOfMemory) {
    return failure({Status::runtime, "device_memory"}, message);
  }
  const auto* const fault = std::ranges::find(kFaults, code, &Fault::code);
  if (fault == kFaults.end()) return std::nullopt;
  return failure(fault->reason, message, true);
}

Failure refused_launch(int code, const std::string& message) {
  if (auto fault = kernel_fault(code, message)) return *fault;
  if (code == kOutOfResources) return failure({Status::runtime, "launch_resources"}, message);
  if (code == kInvalidValue) return failure({Status::runtime, "launch_configuration"}, message);
  return failure({Status::runtime, "launch_refused"}, message);
}

namespace {

// Memory left to the driver for local memory, printf and modules.
constexpr std::size_t kReserveBytes = std::size_t{64} << 20;

}  // namespace

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  // Clears the runtime's last error, so that a later call does not report it again.
  (void)cudaGetLastError();
  throw CudaError(static_cast<int>(code), call, cudaGetErrorString(code));
}

void report(int code, const char* call) noexcept {
  if (code == cudaSuccess || code == cudaErrorCudartUnloading) return;
  try {
    const auto fault = kernel_fault(code, "");
    if (fault && fault->context_lost) return;
  } catch (const std::exception&) {  // Out of memory: only the number is reported then.
  }
  std::fprintf(stderr, "smemtune: %s: CUDA error %d\n", call, code);
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return Stream(stream);
}

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

PinnedMemory make_pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped), "cudaHostAlloc");
  return PinnedMemory(memory);
}

Module make_module(const Driver& driver, std::span<const std::uint8_t> image) {
  CUmodule module = nullptr;
  driver.check(driver.module_load_data(&module, image.data()), "cuModuleLoadData");
  return {module, ModuleUnloader{driver.module_unload}};
}

DeviceMemory allocate(std::size_t bytes) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  void* memory = nullptr;
  cudaError_t code = cudaErrorMemoryAllocation;
  if (free_bytes >= kReserveBytes && free_bytes - kReserveBytes >= bytes) {
    code = cudaMalloc(&memory, bytes);
  }
  if (code == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw CudaError(static_cast<int>(code), "cudaMalloc",
                    std::to_string(bytes) + " bytes of device memory, " +
                        std::to_string(free_bytes) + " of " + std::to_string(total_bytes) +
                        " are free and " + std::to_string(kReserveBytes) + " kept for the driver");
  }
  check(code, "cudaMalloc");
  return DeviceMemory(memory);
}

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, CUstream stream) {
  check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
}

void synchronize(CUstream stream) { check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

std::vector<std::uint8_t> download(CUdeviceptr from, std::int64_t bytes, CUstream stream) {
  auto host = large_vector<std::uint8_t>(static_cast<std::size_t>(bytes));
  copy(host.data(), as_pointer(from), host.size(), cudaMemcpyDeviceToHost, stream);
  synchronize(stream);
  return host;
}

}  // namespace smemtune::cuda
