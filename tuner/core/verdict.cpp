#include "tuner/core/verdict.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace smemtune {

namespace {

/// How far the interval of a median's logarithm reaches to either side of it.
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
