#pragma once

#include "tuner/core/device.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <string>

namespace smemtune {

/// What a dry run found: resources and occupancy of every configuration, and why others are
/// rejected.
std::string dry_run_text(const Space& space, const TuningSummary& summary, const Device& device);

}  // namespace smemtune
