#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/verifier.h"

#include <string>
#include <vector>

// Checks how much a comparison of a kernel's outputs with the reference's can reveal.

namespace smemtune {

/// Adds to `outputs` what the reference wrote in a workload: `kept`, which launcher.kept()
/// returned. Where an output of the problem is listed already, the larger number of changed elements
/// is kept.
void add_outputs(Launcher& launcher, const std::vector<KeptOutput>& kept,
                 const NumberedWorkload& workload, std::vector<ReferenceOutput>& outputs);

/// Returns a sentence for each output of which the reference changed only a part and for each
/// output that is the same everywhere. The first problem has several sets of data; on a problem
/// with a single set, equal elements may follow from the data and are not reported.
std::vector<std::string> notes_on(const std::vector<ReferenceOutput>& outputs);

/// Measures the comparison with the reference itself: changes a few elements of each output as a
/// wrong kernel might, and compares. Returns a sentence for each output of which the comparison
/// does not notice zeroed elements, two swapped elements, a flipped highest bit (of floating types
/// the sign) or a row that is shifted by one element. Changes that an output does not allow, such
/// as swapping elements that are all equal, are skipped. `kept`: see add_outputs().
Outcome<std::vector<std::string>> blind_spots(Launcher& launcher,
                                              const std::vector<KeptOutput>& kept,
                                              const Check& reference,
                                              const NumberedWorkload& workload);

}  // namespace smemtune
