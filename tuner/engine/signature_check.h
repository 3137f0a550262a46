#pragma once

#include "tuner/engine/problem_state.h"

#include <vector>

namespace smemtune {

/// Lets the workers check the default configuration of each kernel on each of the request's
/// problems, without compiling it to the end. Throws InputError that lists every entry whose
/// arguments differ from those that the space passes. Other compile errors are ignored here;
/// nothing is thrown when the run must end meanwhile.
void require_signatures(Tuning& tuning, const std::vector<const KernelTemplate*>& kernels);

}  // namespace smemtune
