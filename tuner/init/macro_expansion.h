#pragma once

#include "tuner/source/flat_source.h"

namespace smemtune {

/// Returns a source with the body of each macro that launches a kernel, or that makes a function a
/// kernel (`#define KERNEL extern "C" __global__ void`), where it is used. Lines keep their numbers.
FlatSource with_kernel_macros_expanded(FlatSource source);

/// Returns a source with every macro that has parameters expanded as well.
FlatSource with_macros_expanded(FlatSource source);

}  // namespace smemtune
