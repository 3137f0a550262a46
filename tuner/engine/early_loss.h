#pragma once

#include "tuner/engine/messages.h"

#include <cstddef>
#include <vector>

namespace smemtune {

/// A configuration that takes this many times as long as the fastest of all kernels has lost to it:
/// with one sample, or with two. No launch is disturbed that much.
inline constexpr double kLostToAny = 4;
inline constexpr double kDoubtfulToAny = 2;

/// A launch that takes this long is timed well enough by itself to compare with, and costs too much
/// to repeat where it has lost to another kernel.
inline constexpr double kLongLaunch_ms = 5;

/// Learns how much a configuration's first sample differs from later ones, so that a
/// configuration which is behind by more than that is given up. Sets no limits until it has seen
/// enough.
class EarlyLoss {
 public:
  /// Records a first sample and what later ones of the same configuration took.
  void tell(double first_ms, double time_ms);

  /// Records a configuration that was given up after a single sample.
  void tell_unsampled() { ++unsampled_; }

  /// Returns the present limits.
  LossLimits limits() const;

 private:
  /// Returns this quantile of the ratios' logarithms.
  double quantile_of_ratios(double share) const;

  std::vector<double> log_ratios_;  ///< Logarithms of first over later samples, ascending.
  std::size_t unsampled_ = 0;
};

/// The time that the fastest configuration so far takes at present. Devices drift, so
/// that it is taken again now and then.
class PresentTime {
 public:
  /// Returns true if another time is wanted before ms() is compared with again. Counts the calls.
  bool is_due();

  void add(double ms);

  /// Returns the median of the latest times. REQUIRES: a time was added.
  double ms() const;

 private:
  std::vector<double> latest_ms_;
  int compared_ = 0;  ///< Since the latest time was added.
};

}  // namespace smemtune
