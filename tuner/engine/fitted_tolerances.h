#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/verifier.h"

#include <map>
#include <string>
#include <vector>

namespace smemtune {

struct FittedTolerances {
  std::map<std::string, Tolerance> tolerances;  ///< Tolerances by output, which replace the types'
                                                ///< defaults.
  std::vector<std::string> notes;               ///< For people.
};

/// Checks whether a kernel that writes zeros would pass for the reference, that is, whether most of
/// an output is no larger than the absolute tolerance. If so, the default tolerance is scaled to
/// fit the output; a tolerance that the space gives is kept, and a note says so. Outputs too large
/// to be downloaded are not checked.
Outcome<FittedTolerances> fitted_tolerances(Launcher& launcher, const Check& reference,
                                            const Workload& workload);

}  // namespace smemtune
