#pragma once

#include "tuner/core/space.h"

#include <string>
#include <vector>

namespace smemtune {

/// The __device__ variables that device code writes, each with its place: `arrived (k.cu:1)`. They
/// keep their values from one launch to the next.
std::vector<std::string> kept_variables(const KernelSource& source);

/// What to say of them behind a failure that they may have caused; empty where there are none.
std::string kept_variables_hint(const KernelSource& source);

}  // namespace smemtune
