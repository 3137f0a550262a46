#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/verifier.h"

#include <functional>
#include <vector>

namespace smemtune {

/// Times a kernel on the workload of its check. A launch with a wrong output is a Failure of status
/// `correctness`, and its times are not returned. `request` need not set what follows from the
/// check.
Outcome<TimeReport> time_compared(Launcher& launcher, const Check& check, TimeRequest request);

/// Does the same for a first look at the speed; a report without usable samples is a Failure.
Outcome<TimeReport> screen(Launcher& launcher, const Check& check, const TimeRequest& request);

/// A kernel in a round, and how often one of its samples launches it, so that samples compare.
struct Entrant {
  Check check;
  int launches_per_sample = 1;
};

/// Takes one cold sample of each kernel, in this order, so that a drift of the device affects all
/// of them. `before` is called with the index of each. Ends early when the device context is lost:
/// the last outcome is then the failure that lost it.
std::vector<Outcome<TimeReport>> sample_round(Launcher& launcher,
                                              const std::vector<Entrant>& entrants,
                                              const std::function<void(int)>& before);

}  // namespace smemtune
