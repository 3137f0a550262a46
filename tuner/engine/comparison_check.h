#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/verifier.h"

#include <string>
#include <vector>

// How much comparing a kernel's outputs with the reference's says.

namespace smemtune {

/// Adds what the reference did to the outputs of a workload. Those of the problem that are there
/// already get what it changed, where that is more.
void add_outputs(Launcher& launcher, const NumberedWorkload& workload,
                 std::vector<ReferenceOutput>& outputs);

/// What is to be said of the share of each output that the reference changed, and of outputs that
/// are the same everywhere; a sentence each. The first problem has several sets of data: what is the
/// same on a single one may follow from the data.
std::vector<std::string> notes_on(const std::vector<ReferenceOutput>& outputs);

/// Measures the comparison with the reference itself: changes a few elements of each output as a
/// wrong kernel might, and compares. Returns a sentence for each output of which it does not see
/// zeroed elements, two elements that are swapped, a flipped highest bit (of floating types the
/// sign) or a row that is shifted by one element. Nothing is said of changes that an output does
/// not allow, as of swapped elements where all are equal.
Outcome<std::vector<std::string>> blind_spots(Launcher& launcher, const Check& reference,
                                              const NumberedWorkload& workload);

}  // namespace smemtune
