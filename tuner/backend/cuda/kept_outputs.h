#pragma once

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/prepared_workload.h"
#include "tuner/backend/launcher.h"

#include <vector>

namespace smemtune::cuda {

/// What a reference run has made the expected outputs of a workload.
std::vector<KeptOutput> kept_outputs(const DeviceKernels& kernels, const PreparedWorkload& workload,
                                     CUstream stream);

/// Puts what is expected, edited, where the kernel's launches leave its outputs.
void write_kept(const PreparedWorkload& workload, const BoundKernel& bound,
                const std::vector<Edit>& edits, CUstream stream);

}  // namespace smemtune::cuda
