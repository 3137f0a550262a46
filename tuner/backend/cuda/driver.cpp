#include "tuner/backend/cuda/driver.h"

#include "tuner/backend/cuda/faults.h"

#include <cuda_runtime_api.h>

namespace smemtune::cuda {
namespace {

template <typename Function>
void fetch(const char* name, Function& function) {
  void* address = nullptr;
#if CUDART_VERSION >= 12050
  // The functions as CUDA 11.8 knows them; later toolkits' headers declare these the same.
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &address, 11080, cudaEnableDefault, nullptr);
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

CUresult Driver::launch(CUfunction function, bool cooperative, const std::array<unsigned, 3>& grid,
                        const std::array<unsigned, 3>& block, unsigned dynamic_shared_bytes,
                        CUstream stream, void** parameters) const {
  if (cooperative) {
    return launch_cooperative_kernel(function, grid[0], grid[1], grid[2], block[0], block[1],
                                     block[2], dynamic_shared_bytes, stream, parameters);
  }
  return launch_kernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                       dynamic_shared_bytes, stream, parameters, nullptr);
}

Driver fetch_driver() {
  Driver driver;
  fetch("cuGetErrorString", driver.get_error_string);
  fetch("cuModuleLoadData", driver.module_load_data);
  fetch("cuModuleUnload", driver.module_unload);
  fetch("cuModuleGetFunction", driver.module_get_function);
  fetch("cuModuleGetGlobal", driver.module_get_global);
  fetch("cuFuncGetAttribute", driver.func_get_attribute);
  fetch("cuFuncSetAttribute", driver.func_set_attribute);
  fetch("cuOccupancyMaxActiveBlocksPerMultiprocessor", driver.occupancy_max_active_blocks);
  fetch("cuLaunchKernel", driver.launch_kernel);
  fetch("cuLaunchCooperativeKernel", driver.launch_cooperative_kernel);
  return driver;
}

}  // namespace smemtune::cuda
