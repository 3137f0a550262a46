#pragma once

#include "smemtune/smemtune.h"
#include "tuner/backend/compiler.h"
#include "tuner/core/kernel_binding.h"

namespace smemtune {

/// A selection as the engine sees it.
struct PlannedKernel {
  KernelInstance instance;
  CompileRequest request;
  KernelPlan plan;
};

/// Plans a selection for `device`. Throws InputError.
PlannedKernel plan_for(const std::filesystem::path& space_file, const Selection& selection,
                       const Device& device, const KernelPlaces& places);

}  // namespace smemtune
