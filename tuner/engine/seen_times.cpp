#include "tuner/engine/seen_times.h"

#include "tuner/core/measurement.h"

#include <algorithm>

namespace smemtune {

void SeenTimes::see(const Result& result) {
  if (result.timed()) least_ms_ = std::min(least_ms_, result.measurement.median_ms);
}

void SeenTimes::tell(const Result& result, bool is_hopeless) {
  if (!result.timed()) return;
  least_told_ms_ = std::min(least_told_ms_, result.measurement.median_ms);
  // A hopeless configuration would not have been timed, so nothing is learnt from it.
  if (!is_hopeless) static_reject_.tell(result);
}

void SeenTimes::see_launches(const EvaluateReply& reply) {
  if (reply.failure) return;
  if (reply.time.samples_ms.empty()) {
    loss_.tell_unsampled();
  } else {
    loss_.tell(reply.first_launch_ms, median(reply.time.samples_ms));
  }
}

void SeenTimes::see_launches(const Result& known) {
  loss_.tell(known.first_launch_ms, known.measurement.median_ms);
}

bool SeenTimes::may_win(const Result& result, double cut_factor) const {
  if (!result.behind()) return false;
  const LossLimits limits = loss_.limits(least_told_ms_);
  const double least_ms =
      limits.sampled_above_ms > 0 ? limits.sampled_above_ms : cut_factor * least_told_ms_;
  return !(result.first_launch_ms > least_ms);
}

}  // namespace smemtune
