#include "tuner/engine/seen_times.h"

#include "tuner/core/measurement.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

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

// A kernel whose fastest configuration takes at most this many times as long as another's is as fast.
constexpr double kAsFast = 1.5;

constexpr std::size_t kLatest = 3;
constexpr int kComparedPerTime = 16;

// The number of a kernel's variants that must have been timed, and of the fastest that are looked
// at: the very fastest may be the only one without spills.
constexpr std::size_t kLeastOutcomes = 32;
constexpr std::size_t kLookedAt = 8;

// A few spilled registers are often worth their price. "Far more" means more than this and more
// than this many times what the fastest spill.
constexpr std::int64_t kHarmlessSpill = 512;
constexpr std::int64_t kFarMore = 4;

constexpr Reason kSpills(Status::constraints, "spills");
constexpr Reason kSerializedWgmma(Status::constraints, "serialized_wgmma");

/// Returns the bytes spilled per thread in the launch that spills most.
std::int64_t spilled_bytes(const Result& result) {
  std::int64_t most = 0;
  for (const LaunchResult& launch : result.launches) {
    most = std::max(most, launch.resources.spill_store_bytes + launch.resources.spill_load_bytes);
  }
  return most;
}

bool serializes_wgmma(const Result& result) {
  return std::ranges::any_of(result.launches, [](const LaunchResult& launch) {
    return launch.resources.wgmma_serialized;
  });
}

}  // namespace

void EarlyLoss::tell(double first_ms, double time_ms) {
  if (!(first_ms > 0) || !(time_ms > 0)) return;
  const double ratio = std::log(first_ms / time_ms);
  log_ratios_.insert(std::ranges::upper_bound(log_ratios_, ratio), ratio);
}

void EarlyLoss::add(const EarlyLoss& other) {
  const std::vector<double> own = std::exchange(log_ratios_, {});
  std::ranges::merge(own, other.log_ratios_, std::back_inserter(log_ratios_));
  unsampled_ += other.unsampled_;
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

void StaticReject::tell(const Result& result) {
  ++told_;
  const Timed timed = {.median_ms = result.measurement.median_ms,
                       .spilled_bytes = smemtune::spilled_bytes(result),
                       .serialized_wgmma = serializes_wgmma(result)};
  fastest_.insert(std::ranges::upper_bound(fastest_, timed.median_ms, {}, &Timed::median_ms),
                  timed);
  if (fastest_.size() > kLookedAt) fastest_.pop_back();
}

StaticLimits StaticReject::limits() const {
  StaticLimits limits;
  if (told_ < kLeastOutcomes) return limits;
  limits.spilled_bytes = 0;
  limits.serialized_wgmma = false;
  for (const Timed& timed : fastest_) {
    limits.spilled_bytes = std::max(limits.spilled_bytes, timed.spilled_bytes);
    limits.serialized_wgmma = limits.serialized_wgmma || timed.serialized_wgmma;
  }
  limits.spilled_bytes = kHarmlessSpill + kFarMore * limits.spilled_bytes;
  return limits;
}

std::optional<Failure> rejects(const StaticLimits& limits, const Result& result) {
  if (result.is_default) return std::nullopt;
  const std::int64_t spilled = spilled_bytes(result);
  if (spilled > limits.spilled_bytes) {
    return failure(kSpills, std::to_string(spilled) +
                                " bytes spilled per thread (stores and loads), " +
                                std::to_string(limits.spilled_bytes) +
                                " are allowed, given what the fastest spill; not timed "
                                "(--no-static-reject times it)");
  }
  if (!limits.serialized_wgmma && serializes_wgmma(result)) {
    return failure(kSerializedWgmma,
                   "the compiler serializes the wgmma instructions, unlike those of the fastest; "
                   "not timed (--no-static-reject times it)");
  }
  return std::nullopt;
}

bool is_static_reject(const Result& result) {
  return result.status == Status::constraints &&
         (result.reason == kSpills.word() || result.reason == kSerializedWgmma.word());
}

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

LossLimits loss_limits(std::span<const SeenTimes> times, std::size_t kernel) {
  LossLimits limits = times[kernel].loss().limits();
  if (limits.doubtful_above > 0) return limits;
  EarlyLoss all;
  for (const SeenTimes& one : times) {
    if (one.least_ms() <= kAsFast * times[kernel].least_ms()) all.add(one.loss());
  }
  limits.doubtful_above = all.limits().doubtful_above;
  return limits;
}

double fastest_of_all_ms(std::span<const SeenTimes> times) {
  double fastest_ms = HUGE_VAL;
  for (const SeenTimes& one : times) fastest_ms = std::min(fastest_ms, one.least_ms());
  return fastest_ms;
}

}  // namespace smemtune
