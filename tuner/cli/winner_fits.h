#pragma once

#include "reports/also_fits.h"
#include "tuner/cli/backends.h"
#include "tuner/core/summary.h"
#include "tuner/engine/tuning_request.h"

#include <vector>

namespace smemtune::cli {

/// Compiles the winners of all problems for each device and checks whether they fit there.
std::vector<AlsoFits> check_also_fits(const TuningRequest& request, const TuningSummary& summary,
                                      DeviceKind tuned_on, const std::vector<Device>& devices,
                                      const DeviceChoice& choice);

}  // namespace smemtune::cli
