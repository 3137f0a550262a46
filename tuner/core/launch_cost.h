#pragma once

#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"

namespace smemtune {

/// What a configuration's launches may cost, by what is known before it is compiled: in no unit, to
/// rank configurations of one kernel on one problem. `registers`: of a thread, as far as known.
///
/// Each launch costs its lanes, idle ones included, with one step for a thread and one for each
/// result that it computes, times what
/// - the last multiprocessors to finish make the others wait,
/// - the bytes that are staged in shared memory for a result weigh,
/// - rows of a block that are shorter than a warp, or no multiple of it, cost in traffic,
/// - lacks of resident warps, and of results that a thread computes side by side, to hide latency.
/// Infinite for what exceeds a limit of the device, or has an expression without a value.
double launch_cost(const KernelBinding& bound, const Configuration& configuration,
                   const Device& device, int registers);

}  // namespace smemtune
