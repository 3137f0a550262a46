#include "tuner/engine/seen_times.h"

#include "tuner/core/measurement.h"

#include <algorithm>

namespace smemtune {

void SeenTimes::see(const Result& result) {
  if (result.timed()) least_ms_ = std::min(least_ms_, result.measurement.median_ms);
}

void SeenTimes::tell(const Result& result, bool is_hopeless) {
  if (!result.timed()) return;
  if (!result.lost_early()) least_full_ms_ = std::min(least_full_ms_, result.measurement.median_ms);
  // A hopeless configuration would not have been timed, so nothing is learnt from it.
  if (!is_hopeless) static_reject_.tell(result);
}

void SeenTimes::see_launches(const EvaluateReply& reply) {
  if (reply.failure) return;
  if (reply.lost && reply.time.samples_ms.size() == 1) loss_.tell_unsampled();
  see_samples(reply.time.samples_ms);
}

void SeenTimes::see_launches(const Result& known) {
  if (!known.lost_early()) see_samples(known.measurement.samples_ms);
}

void SeenTimes::see_samples(std::span<const double> samples_ms) {
  if (samples_ms.size() < 2) return;
  const auto later = samples_ms.subspan(1);
  loss_.tell(samples_ms.front(), median({later.begin(), later.end()}));
}

double fastest_of_all_ms(std::span<const SeenTimes> times) {
  double fastest_ms = HUGE_VAL;
  for (const SeenTimes& one : times) fastest_ms = std::min(fastest_ms, one.least_ms());
  return fastest_ms;
}

bool may_be_best(std::span<const SeenTimes> times, std::size_t kernel, const Result& result) {
  if (!result.lost_early()) return false;
  const double time_ms = result.time_ms().value_or(0);
  if (time_ms > times[kernel].least_full_ms()) return false;
  const double least_ms = std::ranges::min(times, {}, &SeenTimes::least_full_ms).least_full_ms();
  return time_ms < kLongLaunch_ms || time_ms <= kDoubtfulToAny * least_ms;
}

}  // namespace smemtune
