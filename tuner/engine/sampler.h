#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/outcome.h"

#include <functional>
#include <vector>

namespace smemtune {

/// Cold samples of one kernel: the first look at how fast it is.
Outcome<TimeReport> screen(Launcher& launcher, KernelHandle handle, const TimeRequest& request);

/// A kernel of a round, and how often one sample launches it, so that its samples can be compared.
struct Entrant {
  KernelHandle handle = 0;
  int launches_per_sample = 1;
};

/// One cold sample of each, in this order, so that what drifts on the device hits all of them.
/// `before` is called with the number of each. Ends early when the device context is lost: then the
/// last outcome is the failure that lost it.
std::vector<Outcome<TimeReport>> sample_round(Launcher& launcher, WorkloadId workload,
                                              const std::vector<Entrant>& entrants,
                                              const std::function<void(int)>& before);

}  // namespace smemtune
