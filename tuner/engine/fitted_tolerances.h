#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/verifier.h"

#include <map>
#include <string>
#include <vector>

namespace smemtune {

struct FittedTolerances {
  std::map<std::string, Tolerance> tolerances;  ///< By output, in place of the types' defaults.
  std::vector<std::string> notes;               ///< For people.
};

/// Looks whether a kernel that writes zeros would pass for the reference: whether most of an output
/// is no larger than the absolute tolerance. Where the space gives none, the default is then made
/// to fit; where it does, a note says so. What is too large to be looked at is left as it is.
Outcome<FittedTolerances> fitted_tolerances(Launcher& launcher, const Check& reference,
                                            const Workload& workload);

}  // namespace smemtune
