#pragma once

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/prepared_workload.h"
#include "tuner/backend/launcher.h"

#include <vector>

namespace smemtune::cuda {

/// Returns the outputs that a reference run has kept as a workload's expected ones.
std::vector<KeptOutput> kept_outputs(const DeviceKernels& kernels, const PreparedWorkload& workload,
                                     CUstream stream);

/// Writes the expected outputs, with the edits, to where the kernel's launches leave its outputs.
void write_kept(const PreparedWorkload& workload, const BoundKernel& bound,
                const std::vector<Edit>& edits, CUstream stream);

}  // namespace smemtune::cuda
