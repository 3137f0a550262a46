#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/verifier.h"

#include <functional>
#include <vector>

namespace smemtune {

/// Times a kernel on the workload of its check. A launch whose output is wrong is a Failure of
/// status `correctness`, and none of the times is used. `request` has all but what follows from the
/// check.
Outcome<TimeReport> time_compared(Launcher& launcher, const Check& check, TimeRequest request);

/// The same, of samples: the first look at how fast it is.
Outcome<TimeReport> screen(Launcher& launcher, const Check& check, const TimeRequest& request);

/// A kernel of a round, and how often one sample launches it, so that its samples can be compared.
struct Entrant {
  Check check;
  int launches_per_sample = 1;
};

/// One cold sample of each, in this order, so that what drifts on the device hits all of them.
/// `before` is called with the number of each. Ends early when the device context is lost: then the
/// last outcome is the failure that lost it.
std::vector<Outcome<TimeReport>> sample_round(Launcher& launcher,
                                              const std::vector<Entrant>& entrants,
                                              const std::function<void(int)>& before);

}  // namespace smemtune
