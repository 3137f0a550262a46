#include "tuner/engine/sampler.h"

#include "tuner/core/reasons.h"

#include <cmath>

namespace smemtune {

namespace {

/// A launcher that gives no usable time has failed, whatever it says.
Outcome<TimeReport> checked(Outcome<TimeReport> outcome) {
  if (!outcome) return outcome;
  bool usable = !outcome->samples_ms.empty();
  for (const double sample : outcome->samples_ms) {
    usable = usable && std::isfinite(sample) && sample > 0;
  }
  if (usable) return outcome;
  return failure({Status::runtime, "no_time"}, "the device measured no time that is larger than 0");
}

}  // namespace

Outcome<TimeReport> screen(Launcher& launcher, KernelHandle handle, const TimeRequest& request) {
  return checked(launcher.time(handle, request));
}

std::vector<Outcome<TimeReport>> sample_round(Launcher& launcher, WorkloadId workload,
                                              const std::vector<Entrant>& entrants,
                                              const std::function<void(int)>& before) {
  std::vector<Outcome<TimeReport>> outcomes;
  for (const Entrant& entrant : entrants) {
    before(static_cast<int>(outcomes.size()));
    outcomes.push_back(checked(launcher.time(
        entrant.handle,
        {.workload = workload, .samples = 1, .launches_per_sample = entrant.launches_per_sample})));
    if (!outcomes.back() && outcomes.back().failure().context_lost) break;
  }
  return outcomes;
}

}  // namespace smemtune
