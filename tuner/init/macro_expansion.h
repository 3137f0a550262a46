#pragma once

#include "tuner/source/flat_source.h"
#include "tuner/source/macros.h"

#include <string>
#include <vector>

namespace smemtune {

/// Returns a source with the body of each macro that launches a kernel, or that makes a function a
/// kernel (`#define KERNEL extern "C" __global__ void`), where it is used. Lines keep their
/// numbers.
FlatSource with_kernel_macros_expanded(FlatSource source);

/// Returns a source with every macro that has parameters expanded as well.
FlatSource with_macros_expanded(FlatSource source);

/// Returns a macro's text with the arguments in place of its parameters.
std::string expansion(const Macro& macro, const std::vector<std::string>& arguments);

}  // namespace smemtune
