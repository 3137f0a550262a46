#pragma once

#include "tuner/backend/launcher.h"
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
/// an output that it has kept is no larger than the absolute tolerance: of a large output a sample.
/// If so, the default tolerance is scaled to fit the output; a tolerance that the space gives is
/// kept, and a note says so. Sums of more than 2^24 elements are not checked.
FittedTolerances fitted_tolerances(Launcher& launcher, const Check& reference,
                                   const Workload& workload);

}  // namespace smemtune
