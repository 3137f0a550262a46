#include "tuner/engine/early_loss.h"

#include "tuner/core/measurement.h"

#include <algorithm>
#include <cmath>

namespace smemtune {

namespace {

constexpr std::size_t kLeastTold = 16;
constexpr std::size_t kLeastToldForOneLaunch = 32;

// Noise is this many times half the width of the middle half of the ratios seen (two thirds of a
// standard deviation), at least kLeastNoise: the fastest so far owes some of its time to luck, too.
constexpr double kTimesTypical = 6;
constexpr double kLeastNoise = 0.01;

// The best configuration must not be lost to a launch that was disturbed more than any before: none
// is given up on one launch alone if a disturbance this many times the largest seen could explain
// it. Some of those that could be given up are launched twice nevertheless, so that more is seen.
constexpr double kTimesLargest = 2;
constexpr std::size_t kUnsampledPerTold = 9;

constexpr std::size_t kLatest = 3;
constexpr int kComparedPerTime = 16;

}  // namespace

void EarlyLoss::tell(double first_ms, double time_ms) {
  if (!(first_ms > 0) || !(time_ms > 0)) return;
  const double ratio = std::log(first_ms / time_ms);
  log_ratios_.insert(std::ranges::upper_bound(log_ratios_, ratio), ratio);
}

LossLimits EarlyLoss::limits() const {
  LossLimits limits;
  const std::size_t told = log_ratios_.size();
  if (told < kLeastTold) return limits;
  const double center = std::max(quantile_of_ratios(0.5), 0.0);
  const double half_width = (quantile_of_ratios(0.75) - quantile_of_ratios(0.25)) / 2;
  const double typical = std::max(kTimesTypical * half_width, kLeastNoise);
  const double largest = kTimesLargest * (log_ratios_.back() - quantile_of_ratios(0.5));
  limits.doubtful_above = std::exp(center + typical);
  if (told >= kLeastToldForOneLaunch &&
      unsampled_ <= kUnsampledPerTold * (told - kLeastToldForOneLaunch)) {
    limits.lost_above = std::exp(center + std::max(typical, largest));
  }
  return limits;
}

double EarlyLoss::quantile_of_ratios(double share) const {
  const auto last = static_cast<double>(log_ratios_.size() - 1);
  return log_ratios_[static_cast<std::size_t>(std::lround(share * last))];
}

bool PresentTime::is_due() {
  return latest_ms_.size() < kLatest || ++compared_ >= kComparedPerTime;
}

void PresentTime::add(double ms) {
  if (latest_ms_.size() == kLatest) latest_ms_.erase(latest_ms_.begin());
  latest_ms_.push_back(ms);
  compared_ = 0;
}

double PresentTime::ms() const { return median(latest_ms_); }

}  // namespace smemtune
