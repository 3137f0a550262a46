#include "tuner/backend/cuda/handles.h"

#include "tuner/backend/cuda/faults.h"
#include "tuner/core/large_vector.h"

#include <cstdio>
#include <string>

namespace smemtune::cuda {
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
