#include "tuner/core/change_points.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>

namespace smemtune {
namespace {

constexpr double kSignificant = 0.005;
constexpr int kOrders = 1999;
constexpr std::uint64_t kSeed = 1;

using Numbers = std::vector<double>;

double mean(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

struct Split {
  std::size_t first = 0;  // Index of the second part.
  double distance = 0;    // Of the parts' means, in units that do not depend on their lengths.
};

Split widest(std::span<const double> numbers) {
  const auto count = static_cast<double>(numbers.size());
  const double all = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  Split best;
  double left = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    left += numbers[i - 1];
    const auto here = static_cast<double>(i);
    const double difference = std::abs(left / here - (all - left) / (count - here));
    const double distance = difference * std::sqrt(here * (count - here) / count);
    if (distance > best.distance) best = {i, distance};
  }
  return best;
}

/// Returns how often a random order of the numbers has as wide a split; 1 when that is so often
/// that nothing follows.
double chance_of(const Split& split, std::span<const double> numbers) {
  constexpr double kRounding = 1e-12;
  Numbers shuffled(numbers.begin(), numbers.end());
  std::mt19937_64 random(kSeed);
  int as_wide = 0;
  for (int order = 0; order < kOrders; ++order) {
    for (std::size_t i = shuffled.size(); i > 1; --i) {
      std::swap(shuffled[i - 1], shuffled[random() % i]);
    }
    if (widest(shuffled).distance < split.distance * (1 - kRounding)) continue;
    if (++as_wide + 1 > kSignificant * (kOrders + 1)) return 1;
  }
  return (as_wide + 1.0) / (kOrders + 1.0);
}

void split(std::span<const double> logs, std::size_t offset, double least,
           std::vector<ChangePoint>& changes) {
  if (logs.size() < kLeastForAChange) return;
  const Split found = widest(logs);
  if (found.first == 0) return;
  const double step = mean(logs.subspan(found.first)) - mean(logs.first(found.first));
  if (std::abs(step) < least) return;
  const double p = chance_of(found, logs);
  if (p > kSignificant) return;
  split(logs.first(found.first), offset, least, changes);
  changes.push_back({.first = offset + found.first, .p = p});
  split(logs.subspan(found.first), offset + found.first, least, changes);
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> series, double least_percent) {
  Numbers logs;
  for (const double number : series) logs.push_back(std::log(number));
  std::vector<ChangePoint> changes;
  split(logs, 0, std::log1p(least_percent / 100), changes);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : changes[i - 1].first;
    const std::size_t end = i + 1 == changes.size() ? logs.size() : changes[i + 1].first;
    const std::span<const double> all(logs);
    changes[i].before = std::exp(mean(all.subspan(begin, changes[i].first - begin)));
    changes[i].after = std::exp(mean(all.subspan(changes[i].first, end - changes[i].first)));
  }
  return changes;
}

}  // namespace smemtune
