#pragma once

#include <cuda.h>

#include <array>
#include <string>

namespace smemtune::cuda {

/// The driver's functions that we call, fetched at run time so that nothing links libcuda.
struct Driver {
  decltype(&cuGetErrorString) get_error_string = nullptr;
  decltype(&cuModuleLoadData) module_load_data = nullptr;
  decltype(&cuModuleUnload) module_unload = nullptr;
  decltype(&cuModuleGetFunction) module_get_function = nullptr;
  decltype(&cuModuleGetGlobal) module_get_global = nullptr;
  decltype(&cuFuncGetAttribute) func_get_attribute = nullptr;
  decltype(&cuFuncSetAttribute) func_set_attribute = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy_max_active_blocks = nullptr;
  decltype(&cuLaunchKernel) launch_kernel = nullptr;
  decltype(&cuLaunchCooperativeKernel) launch_cooperative_kernel = nullptr;

  /// The driver's words for a code.
  std::string text(CUresult code) const;

  /// Enqueues a launch; a cooperative one waits until all its blocks fit. Throws nothing.
  CUresult launch(CUfunction function, bool cooperative, const std::array<unsigned, 3>& grid,
                  const std::array<unsigned, 3>& block, unsigned dynamic_shared_bytes,
                  CUstream stream, void** parameters) const;

  /// Throws CudaError unless `code` is CUDA_SUCCESS.
  void check(CUresult code, const char* call) const;
};

/// Throws UnavailableError when there is no driver, or it is too old.
Driver fetch_driver();

}  // namespace smemtune::cuda
