#pragma once

#include "tuner/backend/cuda/driver.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace smemtune::cuda {

/// Throws CudaError unless `code` is cudaSuccess. `call` names the function for the message.
void check(cudaError_t code, const char* call);

/// Reports a failure on stderr. For destructors, which can do no more than that. Silent after a
/// kernel's fault, when every release fails and the fault has been reported.
void report(int code, const char* call) noexcept;

/// A deleter for one kind of CUDA handle.
template <auto Destroy>
struct Destroyer {
  template <typename Handle>
  void operator()(Handle* handle) const noexcept {
    report(static_cast<int>(Destroy(handle)), "releasing a CUDA handle");
  }
};

struct ModuleUnloader {
  decltype(&cuModuleUnload) unload = nullptr;

  void operator()(CUmod_st* module) const noexcept {
    report(static_cast<int>(unload(module)), "cuModuleUnload");
  }
};

// Each type owns exactly one handle, so that a class that holds several needs no destructor of its
// own and leaks nothing when the second cannot be created.
using Stream = std::unique_ptr<CUstream_st, Destroyer<cudaStreamDestroy>>;
using Event = std::unique_ptr<CUevent_st, Destroyer<cudaEventDestroy>>;
using DeviceMemory = std::unique_ptr<void, Destroyer<cudaFree>>;
/// Also accessible on the device.
using PinnedMemory = std::unique_ptr<void, Destroyer<cudaFreeHost>>;
using Module = std::unique_ptr<CUmod_st, ModuleUnloader>;

Stream make_stream();
Event make_event();
PinnedMemory make_pinned(std::size_t bytes);
Module make_module(const Driver& driver, std::span<const std::uint8_t> image);

/// Allocates device memory. Throws CudaError (cudaErrorMemoryAllocation) naming the needed and the
/// free bytes, also when the memory would only just suffice: the driver needs some for itself.
DeviceMemory allocate(std::size_t bytes);

/// Copies on the stream, without waiting for it.
void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, CUstream stream);

/// Waits for all work on the stream.
void synchronize(CUstream stream);

/// Returns the bytes at `from` once all work on the stream is done.
std::vector<std::uint8_t> download(CUdeviceptr from, std::int64_t bytes, CUstream stream);

/// The runtime represents device addresses as pointers, the driver as numbers.
inline void* as_pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}
inline CUdeviceptr as_address(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

}  // namespace smemtune::cuda
