#pragma once

#include "reports/also_fits.h"
#include "tuner/core/device.h"
#include "tuner/core/objective.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <string>
#include <vector>

namespace smemtune {

/// Returns the results of a run as JSON, `"format": "smemtune-run", "version": 2`, with every
/// result.
std::string summary_json(const Space& space, const TuningSummary& summary, const Device& device,
                         const std::vector<AlsoFits>& also_fits,
                         const Objective& objective = Objective());

}  // namespace smemtune
