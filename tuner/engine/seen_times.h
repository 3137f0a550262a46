#pragma once

#include "tuner/core/result.h"
#include "tuner/engine/early_loss.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/static_reject.h"

#include <cmath>

namespace smemtune {

/// What the times of one kernel's configurations say of those that follow: what is not worth
/// timing, and when one can no longer win. By kernel, so that a slow one of a ladder is measured as
/// well as the others.
class SeenTimes {
 public:
  /// As EarlyLoss has it.
  explicit SeenTimes(double keep_within_percent) : loss_(keep_within_percent) {}

  /// A result is there, whether or not the strategy has been told of it.
  void see(const Result& result);

  /// The strategy is told of it. `is_hopeless`: beyond the static limits.
  void tell(const Result& result, bool is_hopeless);

  /// What a device said of its first launch and of the samples that followed, if any did.
  void see_launches(const EvaluateReply& reply);

  /// The same of a result from the log. REQUIRES: it is timed.
  void see_launches(const Result& known);

  /// What the strategy was told decides this, so that it is the same whatever the workers do.
  StaticLimits static_limits() const { return static_reject_.limits(); }

  /// When the next one may be given up.
  LossLimits loss_limits() const { return loss_.limits(least_ms_); }

  /// HUGE_VAL: nothing was timed.
  double least_ms() const { return least_ms_; }

  /// Whether what was given up early may win after all by what was told since: the best that it was
  /// behind is no more, or a first launch turned out to say less.
  bool may_win(const Result& result, double cut_factor) const;

 private:
  double least_ms_ = HUGE_VAL;
  double least_told_ms_ = HUGE_VAL;
  StaticReject static_reject_;
  EarlyLoss loss_;
};

}  // namespace smemtune
