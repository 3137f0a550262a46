#pragma once

#include "tuner/core/device.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <string>

namespace smemtune {

/// Returns the result of a dry run as text: resources and occupancy of every configuration that
/// fits, and why the others are rejected.
std::string dry_run_text(const Space& space, const TuningSummary& summary, const Device& device);

}  // namespace smemtune
