#include "tuner/engine/sampler.h"

#include "tuner/core/reasons.h"

#include <cmath>

namespace smemtune {

namespace {

/// Turns a report without usable times into a failure.
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

Outcome<TimeReport> time_compared(Launcher& launcher, const Check& check, TimeRequest request) {
  request.workload = check.workload;
  request.tolerances = check.timed_tolerances;
  Outcome<TimeReport> report = launcher.time(check.handle, request);
  if (report && report->mismatch) {
    return failure_of(*report->mismatch, "in a timed launch on " + check.label);
  }
  return report;
}

Outcome<TimeReport> screen(Launcher& launcher, const Check& check, const TimeRequest& request) {
  return checked(time_compared(launcher, check, request));
}

std::vector<Outcome<TimeReport>> sample_round(Launcher& launcher,
                                              const std::vector<Entrant>& entrants,
                                              const std::function<void(int)>& before) {
  std::vector<Outcome<TimeReport>> outcomes;
  for (const Entrant& entrant : entrants) {
    before(static_cast<int>(outcomes.size()));
    outcomes.push_back(screen(launcher, entrant.check,
                              {.samples = 1, .launches_per_sample = entrant.launches_per_sample}));
    if (!outcomes.back() && outcomes.back().failure().context_lost) break;
  }
  return outcomes;
}

}  // namespace smemtune
