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

}  // namespace smemtune
