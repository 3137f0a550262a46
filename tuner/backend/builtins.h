#pragma once

#include "tuner/core/space.h"

#include <string>

namespace smemtune {

/// Declarations of what nvcc declares unasked (it includes <math.h> and the like itself) and the
/// source uses without declaring it: INFINITY, NAN, M_PI and their kin, NULL, fixed-width integers.
/// To be read before the source; often empty.
std::string builtins_for(const KernelSource& source);

}  // namespace smemtune
