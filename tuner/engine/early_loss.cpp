#include "tuner/engine/early_loss.h"

#include <algorithm>
#include <cmath>

namespace smemtune {

namespace {

// Loading a kernel takes the host about this long.
constexpr double kWorthwhile_ms = 0.5;

constexpr std::size_t kLeastTold = 16;
constexpr std::size_t kLeastToldForOneLaunch = 32;

// Typical noise is this many times that of the middle half of the ratios seen.
constexpr double kTimesTypical = 3;

// The best configuration must not be lost to a launch that was disturbed more than any before: none
// is given up on one launch alone if a disturbance this many times the largest seen could explain
// it. Some of those that could be given up are sampled nevertheless, so that more launches are
// seen.
constexpr double kTimesLargest = 2;
constexpr std::size_t kUnsampledPerTold = 4;

}  // namespace

void EarlyLoss::tell(double first_launch_ms, double time_ms) {
  if (!(first_launch_ms > 0) || !(time_ms > 0)) return;
  const double ratio = std::log(first_launch_ms / time_ms);
  log_ratios_.insert(std::ranges::upper_bound(log_ratios_, ratio), ratio);
}

LossLimits EarlyLoss::limits(double best_ms) const {
  LossLimits limits;
  if (log_ratios_.size() < kLeastTold || !(best_ms >= kWorthwhile_ms) || !std::isfinite(best_ms)) {
    return limits;
  }
  const double center = quantile_of_ratios(0.5);
  const double typical = kTimesTypical * (quantile_of_ratios(0.75) - quantile_of_ratios(0.25)) / 2;
  const double largest = kTimesLargest * (log_ratios_.back() - center);
  const double raced_ms = best_ms * (1 + keep_within_percent_ / 100);
  limits.sample_ms = raced_ms * std::exp(typical);
  limits.sampled_above_ms = limits.sample_ms * std::exp(center);
  const std::size_t told = log_ratios_.size();
  if (told >= kLeastToldForOneLaunch &&
      unsampled_ <= kUnsampledPerTold * (told - kLeastToldForOneLaunch)) {
    limits.lost_above_ms = raced_ms * std::exp(center + std::max(typical, largest));
  }
  return limits;
}

double EarlyLoss::quantile_of_ratios(double share) const {
  const auto last = static_cast<double>(log_ratios_.size() - 1);
  return log_ratios_[static_cast<std::size_t>(std::lround(share * last))];
}

}  // namespace smemtune
