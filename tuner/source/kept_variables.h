#pragma once

#include "tuner/core/space.h"

#include <string>
#include <vector>

namespace smemtune {

/// Returns the __device__ variables that device code writes, each with its place:
/// `arrived (k.cu:1)`. They keep their values from one launch to the next.
std::vector<std::string> kept_variables(const KernelSource& source);

/// Returns a hint at these variables, for the message of a failure that they may have caused; empty
/// if there are none.
std::string kept_variables_hint(const KernelSource& source);

}  // namespace smemtune
