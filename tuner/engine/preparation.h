#pragma once

#include "tuner/core/derived_tolerance.h"
#include "tuner/engine/problem_state.h"

#include <vector>

namespace smemtune {

/// Prepares the devices for requests as far as possible without waiting; the reference kernel must
/// be compiled first. Returns true once the preparation is handed to the devices. Throws
/// ReferenceError when the reference cannot be launched or compiled.
bool devices_have_preparation(Tuning& tuning, ProblemState& state);

/// Records with what the result's outputs were compared, if it was found correct. `parts`: those of
/// its variant.
void set_compared(Result& result, const ProblemState& state, const KernelOnProblems& kernel,
                  const std::vector<Part>& parts);

/// Returns the tolerances that any device derived.
std::vector<DerivedTolerance> derived_tolerances(const ProblemState& state);

}  // namespace smemtune
