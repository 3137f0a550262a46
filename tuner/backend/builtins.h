#pragma once

#include "tuner/core/space.h"

#include <string>

namespace smemtune {

/// Returns declarations of the names that nvcc declares by itself (it includes <math.h> and the
/// like) and that the source uses without declaring them: INFINITY, NAN, M_PI and their kin, NULL,
/// fixed-width integers. The text must be read before the source; it is often empty.
std::string builtins_for(const KernelSource& source);

}  // namespace smemtune
