#pragma once

#include "reports/also_fits.h"
#include "tuner/cli/command_tune.h"
#include "tuner/cli/overrun_timer.h"
#include "tuner/cli/progress.h"
#include "tuner/core/device.h"
#include "tuner/core/objective.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"
#include "tuner/engine/observer.h"

#include <string>
#include <vector>

// The output of `smemtune --space FILE` about its runs.

namespace smemtune::cli {

void say_unless_quiet(const TuneOptions& options, const std::string& line);

Verbosity verbosity(const TuneOptions& options);

/// Makes the observer also report the run's activities to `late`.
void follow(Observer& observer, OverrunTimer& late);

/// Returns what `--objective` asks for. Throws InputError.
Objective objective_of(const TuneOptions& options, const Space& space);

/// Prints the summary of a run and returns its exit status.
int finish(const TuneOptions& options, const Space& space, const TuningSummary& summary,
           const Device& device, const std::vector<AlsoFits>& also_fits = {});

}  // namespace smemtune::cli
