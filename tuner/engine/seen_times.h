#pragma once

#include "tuner/core/result.h"
#include "tuner/engine/early_loss.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/static_reject.h"

#include <cmath>
#include <span>

namespace smemtune {

/// Learns from the times of one kernel's configurations which of those that follow are not worth
/// timing or can no longer win. There is one for each kernel, so that a slow kernel of a ladder is
/// measured as well as the others.
class SeenTimes {
 public:
  /// Records a result, whether or not the strategy has been told it.
  void see(const Result& result);

  /// Records a result that the strategy is told. `is_hopeless`: it is beyond the static limits.
  void tell(const Result& result, bool is_hopeless);

  /// Records the time of a first launch and of the samples that followed, if any.
  void see_launches(const EvaluateReply& reply);

  /// Does the same for a result from the log. REQUIRES: it is timed.
  void see_launches(const Result& known);

  /// Depends only on the results told, so that it is the same whatever the workers do.
  StaticLimits static_limits() const { return static_reject_.limits(); }

  /// Returns the limits beyond which the next configuration may be given up.
  LossLimits loss_limits() const { return loss_.limits(); }

  /// The least median seen; HUGE_VAL when nothing was timed.
  double least_ms() const { return least_ms_; }

  /// The least median told of a configuration that was not given up; HUGE_VAL when there is none.
  double least_full_ms() const { return least_full_ms_; }

 private:
  void see_samples(std::span<const double> samples_ms);

  double least_ms_ = HUGE_VAL;
  double least_full_ms_ = HUGE_VAL;
  StaticReject static_reject_;
  EarlyLoss loss_;
};

/// Returns the least median that was seen of any kernel; HUGE_VAL when nothing was timed.
double fastest_of_all_ms(std::span<const SeenTimes> times);

}  // namespace smemtune
