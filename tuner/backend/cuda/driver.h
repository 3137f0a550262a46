#pragma once

#include "tuner/core/error.h"
#include "tuner/core/outcome.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cuda {

/// The functions of the CUDA driver that are used here, fetched at run time so that nothing links
/// libcuda.
struct Driver {
  decltype(&cuGetErrorString) get_error_string = nullptr;
  decltype(&cuCtxGetCurrent) ctx_get_current = nullptr;
  decltype(&cuModuleLoadData) module_load_data = nullptr;
  decltype(&cuModuleUnload) module_unload = nullptr;
  decltype(&cuModuleGetFunction) module_get_function = nullptr;
  decltype(&cuModuleGetGlobal) module_get_global = nullptr;
  decltype(&cuFuncGetAttribute) func_get_attribute = nullptr;
  decltype(&cuFuncSetAttribute) func_set_attribute = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy_max_active_blocks = nullptr;
  decltype(&cuLaunchKernel) launch_kernel = nullptr;
  decltype(&cuLaunchKernelEx) launch_kernel_ex = nullptr;
  decltype(&cuOccupancyMaxActiveClusters) occupancy_max_active_clusters = nullptr;
#if CUDA_VERSION >= 12000
  /// nullptr if the driver is too old.
  decltype(&cuTensorMapEncodeTiled) tensor_map_encode_tiled = nullptr;
#endif

  /// Returns the driver's description of an error code.
  std::string text(CUresult code) const;

  /// Throws CudaError unless `code` is CUDA_SUCCESS.
  void check(CUresult code, const char* call) const;
};

/// Fetches the functions. Throws UnavailableError if there is no driver, or it is too old.
Driver fetch_driver();

/// The error of a call of the CUDA runtime or driver. Both number their errors alike.
class CudaError : public UnavailableError {
 public:
  CudaError(int code, const std::string& call, const std::string& text)
      : UnavailableError(call + ": " + text + " (CUDA error " + std::to_string(code) + ")"),
        code_(code) {}

  int code() const { return code_; }

 private:
  int code_;
};

/// Returns the failure of a kernel if `code` is an error that a kernel caused: an illegal address,
/// a trap and the like, after which the context is lost; or memory that ran out. Nullopt for errors
/// of the machine.
std::optional<Failure> kernel_fault(int code, const std::string& message);

/// Returns the failure of a launch that the driver refused: too many resources, impossible
/// dimensions. The context remains usable, unless `code` is an earlier kernel's fault.
Failure refused_launch(int code, const std::string& message);

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
