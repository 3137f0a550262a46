#pragma once

#include "tuner/backend/cuda/bound_kernel.h"
#include "tuner/backend/cuda/device_kernels.h"
#include "tuner/backend/cuda/prepared_workload.h"
#include "tuner/backend/launcher.h"

#include <optional>

namespace smemtune::cuda {

/// Makes all buffers as they are before a checked run: the workload's with their initial contents
/// or poison, scratch poisoned, guard zones with their pattern.
void prepare_buffers(const DeviceKernels& kernels, const PreparedWorkload& workload,
                     const BoundKernel& bound, CUstream stream);

/// Looks at every element, guard zone and input after such a run; notes the errors in the report
/// and returns the first thing that is wrong. Guard zones come first: what else is wrong may follow
/// from a write beyond a buffer.
std::optional<Mismatch> check_buffers(const DeviceKernels& kernels,
                                      const PreparedWorkload& workload, const BoundKernel& bound,
                                      const RunRequest& request, CUstream stream,
                                      RunReport& report);

}  // namespace smemtune::cuda
