#pragma once

#include "smemtune/smemtune.h"
#include "tuner/backend/compiler.h"
#include "tuner/config/space_file.h"
#include "tuner/core/kernel_binding.h"

#include <filesystem>

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

}  // namespace smemtune
