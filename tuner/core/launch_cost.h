#pragma once

#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"

namespace smemtune {

/// Estimates the cost of a configuration's launches before it is compiled, in no particular unit,
/// to rank configurations of one kernel on one problem. `registers`: registers per thread, as far
/// as known.
///
/// The cost of a launch is the number of its lanes, idle ones included, with one step for each
/// thread and one for each result that a thread computes, multiplied by factors for
/// - multiprocessors that wait for the last one to finish,
/// - bytes that are staged in shared memory for each result,
/// - traffic of block rows that are shorter than a warp or not a multiple of it,
/// - a lack of resident warps, and of results that a thread computes side by side, to hide latency.
/// Returns infinity if the configuration exceeds a limit of the device or has an expression without
/// a value.
double launch_cost(const KernelBinding& bound, const Configuration& configuration,
                   const Device& device, int registers);

}  // namespace smemtune
