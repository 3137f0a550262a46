#pragma once

#include "reports/also_fits.h"
#include "tuner/cli/command_tune.h"
#include "tuner/cli/late_end.h"
#include "tuner/cli/progress.h"
#include "tuner/core/device.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"
#include "tuner/engine/observer.h"

#include <string>
#include <vector>

// What `smemtune --space FILE` says of its runs.

namespace smemtune::cli {

void say_unless_quiet(const TuneOptions& options, const std::string& line);

Verbosity verbosity(const TuneOptions& options);

/// What the run is at is what the command is at.
void follow(Observer& observer, LateEnd& late);

/// Prints the summary of a run, and returns its exit status.
int finish(const TuneOptions& options, const Space& space, const TuningSummary& summary,
           const Device& device, const std::vector<AlsoFits>& also_fits = {});

}  // namespace smemtune::cli
