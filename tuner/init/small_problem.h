#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_names.h"

namespace smemtune {

/// Returns the problem for the CPU device: one that it seems to solve in seconds, by the threads
/// and the loops over sizes, that blocks divide where they divide the whole one, and for which no
/// grid is empty. `kernels`: those of the space.
Json cpu_problem(const SpaceNames& names, const Json& kernels);

/// Returns another such problem, which is smaller still if it can be.
Json small_problem(const SpaceNames& names, const Json& kernels);

}  // namespace smemtune
