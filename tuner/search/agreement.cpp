#include "tuner/search/agreement.h"

#include <cmath>

namespace smemtune {

namespace {

constexpr std::size_t kMostResults = 100;

// The prior: pairs with this total weight, of which this share is right.
constexpr double kPriorWeight = 0.5;
constexpr double kPriorShare = 0.9;

}  // namespace

Agreement::Agreement(const Ranking& ranking) {
  const auto size = static_cast<double>(ranking.fastest_first.size());
  for (const Ranking::Timed& timed : ranking.fastest_first) {
    ranks_.emplace(timed.configuration, static_cast<double>(ranks_.size()) / size);
  }
}

void Agreement::tell(ConfigurationIndex configuration, std::optional<double> time_ms) {
  const auto rank = ranks_.find(configuration);
  if (rank == ranks_.end() || told_.size() >= kMostResults) return;
  const double own_ms = time_ms.value_or(HUGE_VAL);
  for (const Told& other : told_) {
    const double other_ms = other.time_ms.value_or(HUGE_VAL);
    if (own_ms == other_ms) continue;
    const double apart = std::abs(rank->second - other.rank);
    all_ += apart;
    if ((own_ms < other_ms) == (rank->second < other.rank)) right_ += apart;
  }
  told_.push_back({.rank = rank->second, .time_ms = time_ms});
}

double Agreement::share() const {
  return (right_ + kPriorShare * kPriorWeight) / (all_ + kPriorWeight);
}

float Agreement::nearness(ConfigurationIndex configuration) const {
  const auto rank = ranks_.find(configuration);
  return rank == ranks_.end() ? 0 : 1 - static_cast<float>(rank->second);
}

}  // namespace smemtune
