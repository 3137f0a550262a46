#pragma once

#include "tuner/engine/messages.h"

#include <cstddef>
#include <vector>

namespace smemtune {

/// Learns, of one kernel, what a first launch says of the time that would be measured, so that a
/// configuration which is clearly behind is given up without a second set of data and without
/// further samples. It says nothing until it has seen enough, and of short kernels never, as
/// launching them costs next to nothing.
class EarlyLoss {
 public:
  /// `keep_within_percent`: so much slower than the best, a configuration is still to be raced.
  explicit EarlyLoss(double keep_within_percent) : keep_within_percent_(keep_within_percent) {}

  /// A configuration that was launched and sampled.
  void tell(double first_launch_ms, double time_ms);

  /// One that was given up after its first launch alone.
  void tell_unsampled() { ++unsampled_; }

  /// `best_ms`: the least median of the kernel.
  LossLimits limits(double best_ms) const;

 private:
  /// Of this share of the ratios' logarithms, counted from the least.
  double quantile_of_ratios(double share) const;

  double keep_within_percent_;
  std::vector<double> log_ratios_;  ///< First launch to time, in order.
  std::size_t unsampled_ = 0;
};

}  // namespace smemtune
