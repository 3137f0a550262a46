#pragma once

#include <cuda.h>

#include <string>

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

}  // namespace smemtune::cuda
