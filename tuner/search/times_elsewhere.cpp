#include "tuner/search/times_elsewhere.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace smemtune {

namespace {

constexpr std::size_t kLeastMeasured = 40;
constexpr double kSlow = 4;

}  // namespace

bool TimesElsewhere::is_enough(const Ranking& ranking) {
  return ranking.fastest_first.size() >= kLeastMeasured;
}

TimesElsewhere::TimesElsewhere(const Ranking& ranking, const SearchSpace& space,
                               const ConfigurationFeatures& features, RandomEngine& random)
    : space_(&space), features_(&features) {
  const double best_ms = ranking.fastest_first.front().time_ms;
  for (const auto& [time_ms, configuration] : ranking.fastest_first) {
    const double behind = std::log(time_ms / best_ms) / std::log(kSlow);
    known_.emplace(configuration, static_cast<float>(std::min(behind, 1.0)));
  }
  std::vector<GaussianProcess::Sample> samples;
  for (const std::size_t i : GaussianProcess::selection(ranking.fastest_first.size())) {
    const ConfigurationIndex configuration = ranking.fastest_first[i].configuration;
    samples.push_back(
        {.features = place(configuration), .value = static_cast<double>(known_.at(configuration))});
  }
  process_.fit(std::move(samples), random);
}

void TimesElsewhere::estimate(std::span<const ConfigurationIndex> configurations) {
  std::vector<ConfigurationIndex> unknown;
  std::vector<std::vector<float>> places;
  for (const ConfigurationIndex configuration : configurations) {
    if (known_.contains(configuration)) continue;
    unknown.push_back(configuration);
    places.push_back(place(configuration));
  }
  if (unknown.empty()) return;
  process_.set_candidates(places);
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    known_.emplace(unknown[i], static_cast<float>(std::clamp(process_.mean(i), 0.0, 1.0)));
  }
}

float TimesElsewhere::operator()(ConfigurationIndex configuration) {
  const auto known = known_.find(configuration);
  if (known != known_.end()) return known->second;
  estimate({&configuration, 1});
  return known_.at(configuration);
}

}  // namespace smemtune
