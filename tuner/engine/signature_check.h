#pragma once

#include "tuner/engine/problem_state.h"

#include <vector>

namespace smemtune {

/// Has the workers look at the default configuration of each kernel on each of the request's
/// problems, without compiling it to the end. Throws InputError with every entry that takes other
/// arguments than the space passes. What does not compile for another reason is left for later;
/// nothing is thrown where the run must end meanwhile.
void require_signatures(Tuning& tuning, const std::vector<const KernelTemplate*>& kernels);

}  // namespace smemtune
