#include "tuner/core/verdict.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace smemtune {

namespace {

/// 97.5 % of a normal distribution lie below.
constexpr double kNormalQuantile = 1.959964;

/// How likely it is by chance alone that all of one lie on one side of all of the other, or on the
/// other side.
double least_probability(std::size_t one, std::size_t other) {
  double orders = 1;
  for (std::size_t i = 1; i <= one; ++i) {
    orders *= static_cast<double>(other + i) / static_cast<double>(i);
  }
  return 2 / orders;
}

std::vector<double> logs_of(std::span<const double> ms) {
  std::vector<double> logs;
  for (const double time : ms) logs.push_back(std::log(time));
  return logs;
}

/// Not `-0.0`.
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

std::optional<Slowdown> slowdown(std::span<const double> ms, std::span<const double> than_ms) {
  if (least_probability(ms.size(), than_ms.size()) > 0.05) return std::nullopt;
  const std::vector<double> logs = logs_of(ms);
  const std::vector<double> than_logs = logs_of(than_ms);
  std::vector<double> ratios;
  ratios.reserve(ms.size() * than_ms.size());
  for (const double one : logs) {
    for (const double other : than_logs) ratios.push_back(one - other);
  }
  const auto ranked = [&ratios](std::size_t rank) {
    const auto place = ratios.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(ratios.begin(), place, ratios.end());
    return *place;
  };
  const auto m = static_cast<double>(ms.size());
  const auto n = static_cast<double>(than_ms.size());
  const double left_out = m * n / 2 - kNormalQuantile * std::sqrt(m * n * (m + n + 1) / 12);
  const std::size_t low = left_out > 1 ? static_cast<std::size_t>(left_out) : 0;
  const std::size_t size = ratios.size();
  const double middle = (ranked((size - 1) / 2) + ranked(size / 2)) / 2;
  return Slowdown{.percent = to_percent(middle),
                  .low_percent = to_percent(ranked(low)),
                  .high_percent = to_percent(ranked(size - 1 - low))};
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
  const bool has_amount = is_faster || verdict == Verdict::slower;
  return (has_amount ? in_tenths(sign * slowdown->percent) + " % " : "") + to_text(verdict) + " (" +
         in_tenths(sign * low) + " to " + in_tenths(sign * high) + " %)";
}

}  // namespace smemtune
