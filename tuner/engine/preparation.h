#pragma once

#include "tuner/core/derived_tolerance.h"
#include "tuner/engine/problem_state.h"

#include <vector>

namespace smemtune {

/// Makes the devices ready for requests, as far as that goes without waiting: the reference kernel
/// has to be compiled first. Throws InputError when it cannot be.
bool devices_have_preparation(Tuning& tuning, ProblemState& state);

/// Says with what the result's outputs were compared, where it was found correct. `parts`: of its
/// variant.
void set_compared(Result& result, const ProblemState& state, const KernelOnProblems& kernel,
                  const std::vector<Part>& parts);

/// What any device said of tolerances.
std::vector<DerivedTolerance> derived_tolerances(const ProblemState& state);

}  // namespace smemtune
