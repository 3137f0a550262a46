#include "tuner/backend/cuda/driver.h"

#include "tuner/backend/cuda/faults.h"

#include <cuda_runtime_api.h>

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

}  // namespace smemtune::cuda
