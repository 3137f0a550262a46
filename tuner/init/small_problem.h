#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/host_function.h"
#include "tuner/init/space_names.h"

namespace smemtune {

/// Returns the problem for the CPU device: one that it seems to solve in seconds, by the threads
/// and the loops over sizes, that blocks divide where they divide the whole one, and for which no
/// grid is empty. `kernels`: those of the space.
Json cpu_problem(const SpaceNames& names, const Json& kernels);

/// Returns another such problem, which is smaller still if it can be. `witness`: a function of the
/// host that one thread is to run for it; may be nullptr.
Json small_problem(const SpaceNames& names, const Json& kernels, const HostFunction* witness);

}  // namespace smemtune
