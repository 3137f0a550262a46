#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/core/device.h"

#include <filesystem>
#include <vector>

namespace smemtune {

/// Returns the GPUs of this machine, by index. CUDA_MODULE_LOADING stays as the program has it.
/// Throws UnavailableError.
const std::vector<Device>& gpu_devices();

/// Compiles by the NVRTC at `nvrtc`, or if that is empty by the one that the request names or the
/// newest that is found. `cache`: the folder of compiled modules; empty for the default one.
Outcome<CompiledKernel> compile_cached(CompileRequest request, const std::filesystem::path& cache,
                                       const std::filesystem::path& nvrtc);

/// Makes the primary context of a GPU current, and finally restores the previous device.
class CurrentGpu {
 public:
  explicit CurrentGpu(int gpu);
  ~CurrentGpu();
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  int before_ = 0;
};

}  // namespace smemtune
