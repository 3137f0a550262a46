#pragma once

#include "smemtune/smemtune.h"
#include "tuner/backend/compiler.h"
#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"

#include <filesystem>
#include <vector>

namespace smemtune {

/// A selection as the engine sees it.
struct PlannedKernel {
  KernelInstance instance;
  CompileRequest request;
  KernelPlan plan;
};

/// Returns the folder that holds kernel_templates/: that of `places`, $SMEMTUNE_SHARE, or where
/// smemtune was installed.
std::filesystem::path share_of(const KernelPlaces& places);

/// Returns the device of a target that is not here: the model of its name in the list of published
/// ones below `share`, or else one of which only the compute capability is known. Its limits are
/// then the largest of any GPU: the selection was measured on a device of that compute capability,
/// or is a default.
Device assumed_device(const Target& target, const std::filesystem::path& share);

/// Plans a selection for `device`. `space_file` names the space in messages. Throws InputError.
PlannedKernel plan_for(const LoadedSpace& loaded, const std::filesystem::path& space_file,
                       const Selection& selection, const Device& device);

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
