#include "tuner/core/measurement.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numeric>

namespace smemtune {

namespace {

/// Returns a quantile. REQUIRES: sorted is ascending and not empty.
double sorted_quantile(std::span<const double> sorted, double fraction) {
  const double position = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

/// Returns how many order statistics may be left out at either end so that the rest still covers
/// the median with at least 95 %. The number of samples below the median is binomial (n, 1/2).
std::size_t median_interval_trim(std::size_t n) {
  constexpr double kTail = 0.025;
  // Log probability of 0 samples below.
  double log_probability = -static_cast<double>(n) * std::log(2.0);
  double cumulative = std::exp(log_probability);
  std::size_t k = 0;
  while (cumulative <= kTail && k < n) {
    ++k;
    log_probability += std::log(static_cast<double>(n - k + 1) / static_cast<double>(k));
    cumulative += std::exp(log_probability);
  }
  // P(fewer than k below) is within the tail, so the k-th smallest is still a bound.
  return k == 0 ? 0 : k - 1;
}

/// Returns median_interval_trim(n), from a table if there are few samples, which is the usual case:
/// imports have millions of measurements.
std::size_t known_interval_trim(std::size_t n) {
  static const std::array<std::size_t, 129> kTrims = [] {
    std::array<std::size_t, 129> trims{};
    for (std::size_t i = 0; i < trims.size(); ++i) trims[i] = median_interval_trim(i);
    return trims;
  }();
  return n < kTrims.size() ? kTrims[n] : median_interval_trim(n);
}

}  // namespace

bool is_time(double ms) { return std::isfinite(ms) && ms > 0; }

double Measurement::spread_percent() const {
  return median_ms > 0 ? (q3_ms - q1_ms) / median_ms * 100 : 0;
}

Measurement told_time(double ms) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  Measurement measurement;
  measurement.median_ms = measurement.mean_ms = ms;
  for (double Measurement::*statistic :
       {&Measurement::min_ms, &Measurement::max_ms, &Measurement::q1_ms, &Measurement::q3_ms,
        &Measurement::median_low_ms, &Measurement::median_high_ms}) {
    measurement.*statistic = kUnknown;
  }
  return measurement;
}

Measurement summarize(std::span<const double> samples_ms, int launches_per_sample) {
  std::vector<double> sorted(samples_ms.begin(), samples_ms.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t trim = known_interval_trim(sorted.size());

  Measurement measurement;
  measurement.samples_ms.assign(samples_ms.begin(), samples_ms.end());
  measurement.sample_count = std::ssize(samples_ms);
  measurement.launches_per_sample = launches_per_sample;
  measurement.median_ms = sorted_quantile(sorted, 0.5);
  measurement.min_ms = sorted.front();
  measurement.max_ms = sorted.back();
  measurement.mean_ms =
      std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  measurement.q1_ms = sorted_quantile(sorted, 0.25);
  measurement.q3_ms = sorted_quantile(sorted, 0.75);
  measurement.median_low_ms = sorted[trim];
  measurement.median_high_ms = sorted[sorted.size() - 1 - trim];
  return measurement;
}

double quantile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return sorted_quantile(values, fraction);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

namespace {

/// Distance that the interval of a median's logarithm reaches to either side of it.
struct Reach {
  double down = 0;
  double up = 0;
};

/// Returns the reach; nullopt if there are too few samples.
std::optional<Reach> reach_of(const Measurement& measured) {
  // With fewer than 6 samples, the least and the greatest enclose the median too seldom. These
  // multiples of their reach suffice in 95 % of samples from normal, exponential and log-normal
  // distributions.
  constexpr std::array<double, 6> kTimesAsFar = {0, 0, 0, 4.7, 1.7, 1.1};
  const std::size_t count =
      std::max(measured.samples_ms.size(), static_cast<std::size_t>(measured.sample_count));
  const bool is_few = count > 0 && count < kTimesAsFar.size();  // A count of 0 means not known.
  const double factor = is_few ? kTimesAsFar[count] : 1;
  if (factor <= 0 || !is_time(measured.median_low_ms) || !is_time(measured.median_high_ms)) {
    return std::nullopt;
  }
  const double median = std::log(measured.median_ms);
  return Reach{.down = factor * std::max(0.0, median - std::log(measured.median_low_ms)),
               .up = factor * std::max(0.0, std::log(measured.median_high_ms) - median)};
}

/// Formats a value in tenths, never as `-0.0`.
std::string in_tenths(double value) { return decimal(std::round(value * 10) / 10 + 0.0, 1); }

}  // namespace

double to_percent(double log_ratio) { return std::expm1(log_ratio) * 100; }

std::string to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return "faster";
    case Verdict::slower:
      return "slower";
    case Verdict::same:
      return "the same";
    default:
      return "cannot be told";
  }
}

std::optional<Slowdown> slowdown(const Measurement& one, const Measurement& other) {
  const std::optional<Reach> reach = reach_of(one);
  const std::optional<Reach> other_reach = reach_of(other);
  if (!reach || !other_reach) return std::nullopt;
  const double log_ratio = std::log(one.median_ms / other.median_ms);
  return Slowdown{.percent = to_percent(log_ratio),
                  .low_percent = to_percent(log_ratio - std::hypot(reach->down, other_reach->up)),
                  .high_percent = to_percent(log_ratio + std::hypot(reach->up, other_reach->down))};
}

Verdict verdict_of(const std::optional<Slowdown>& slowdown, double same_percent) {
  if (!slowdown) return Verdict::cannot_be_told;
  if (slowdown->low_percent > same_percent) return Verdict::slower;
  if (slowdown->high_percent < -same_percent) return Verdict::faster;
  const bool is_within =
      slowdown->low_percent >= -same_percent && slowdown->high_percent <= same_percent;
  return is_within ? Verdict::same : Verdict::cannot_be_told;
}

std::string verdict_text(const std::optional<Slowdown>& slowdown, double same_percent) {
  const Verdict verdict = verdict_of(slowdown, same_percent);
  if (!slowdown) return to_text(verdict) + " (too few samples)";
  const bool is_faster = verdict == Verdict::faster;
  const double sign = is_faster ? -1 : 1;
  const double low = is_faster ? slowdown->high_percent : slowdown->low_percent;
  const double high = is_faster ? slowdown->low_percent : slowdown->high_percent;
  if (verdict == Verdict::slower && slowdown->percent >= 100) {
    const auto times = [](double percent) { return in_tenths(1 + percent / 100); };
    return "takes " + times(slowdown->percent) + "x the time (" + times(low) + " to " +
           times(high) + "x)";
  }
  const bool has_amount = is_faster || verdict == Verdict::slower;
  return (has_amount ? in_tenths(sign * slowdown->percent) + " % " : "") + to_text(verdict) + " (" +
         in_tenths(sign * low) + " to " + in_tenths(sign * high) + " %)";
}

}  // namespace smemtune
