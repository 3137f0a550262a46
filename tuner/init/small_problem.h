#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/space_names.h"

namespace smemtune {

/// Returns the problem for the CPU device: one that it solves in seconds, that the kernels' blocks
/// divide as they divide the whole one, and for which every grid has a block. `kernels`: those of the
/// space.
Json cpu_problem(const SpaceNames& names, const Json& kernels);

/// Returns such a problem that one thread solves in a moment.
Json small_problem(const SpaceNames& names, const Json& kernels);

}  // namespace smemtune
