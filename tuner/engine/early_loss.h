#pragma once

#include "tuner/engine/messages.h"

#include <cstddef>
#include <vector>

namespace smemtune {

/// Learns how a kernel's first launch relates to the time that would be measured, so that a
/// configuration which is clearly behind is given up without a second set of data and without
/// further samples. Sets no limits until it has seen enough, and never for short kernels, whose
/// launches cost next to nothing.
class EarlyLoss {
 public:
  /// `keep_within_percent`: configurations at most this much slower than the best are to be raced.
  explicit EarlyLoss(double keep_within_percent) : keep_within_percent_(keep_within_percent) {}

  /// Records a configuration that was launched and sampled.
  void tell(double first_launch_ms, double time_ms);

  /// Records a configuration that was given up after its first launch alone.
  void tell_unsampled() { ++unsampled_; }

  /// Returns the present limits. `best_ms`: the least median of the kernel.
  LossLimits limits(double best_ms) const;

 private:
  /// Returns this quantile of the ratios' logarithms.
  double quantile_of_ratios(double share) const;

  double keep_within_percent_;
  std::vector<double> log_ratios_;  ///< Logarithms of first launch over measured time, ascending.
  std::size_t unsampled_ = 0;
};

}  // namespace smemtune
