#include "tuner/engine/sampler.h"

#include "tuner/core/elapsed.h"
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

// kFirst sets are drawn at first, or fewer, but kLeast, when that takes more than kFirst_ms. Later a
// single draw takes at most kMost_ms.
constexpr int kFirst = 4;
constexpr int kLeast = 2;
constexpr double kFirst_ms = 250;
constexpr double kMost_ms = 1000;

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

std::optional<Failure> TimedData::draw_first(const Check& reference) {
  reference_ = reference;
  search = {.share = search.share};
  finals = {.share = finals.share};
  double all_ms = 0;
  for (int i = 0; i < kFirst; ++i) {
    if (i >= kLeast && all_ms > kFirst_ms) break;
    const auto start = std::chrono::steady_clock::now();
    const Outcome<bool> drawn = launcher_.draw_data(reference.handle, reference.workload);
    if (!drawn) return drawn.failure();
    draws_ = *drawn;
    if (!draws_) break;
    search.last_ms = finals.last_ms = ms_since(start);
    all_ms += search.last_ms;
  }
  return std::nullopt;
}

std::optional<Failure> TimedData::draw(Part& part) {
  const bool affordable = part.all_ms + part.last_ms <= part.share * part.of_ms;
  if (!draws_ || !affordable || part.last_ms > kMost_ms) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  const Outcome<bool> drawn = launcher_.draw_data(reference_.handle, reference_.workload);
  draws_ = drawn && *drawn;
  part.last_ms = ms_since(start);
  part.all_ms += part.last_ms;
  if (drawn || !drawn.failure().context_lost) return std::nullopt;
  return drawn.failure();
}

}  // namespace smemtune
