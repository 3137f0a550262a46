#include "tuner/search/likely_better.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace smemtune {

namespace {

// Chosen together with those of the forest.
constexpr std::size_t kFirstLearnt = 16;
constexpr std::size_t kLeastTimed = 3;
constexpr double kFitAfter = 1.5;  // Fitted again when this many times as many were told.

constexpr std::size_t kDrawnCandidates = 2000;  // Candidates in a larger space.
constexpr std::size_t kBeside = 5;              // The best whose neighbors are candidates, too.

// Predictions miss by about this many times as much as the process expects, whose lengths are only
// estimates. Of no use where other questions are unanswered: keeping away from them explores enough.
constexpr double kDoubt = 1.5;

// The noise is mostly what the features do not explain, so that a measurement repeats it: a share of
// its variance is worth a look beside the best, once something is known of where that is.
constexpr double kNoiseShare = 0.5;
constexpr std::size_t kNoiseAfter = 60;

constexpr std::size_t kMostElsewhere = 3;

}  // namespace

LikelyBetter::LikelyBetter(Untried& untried, std::uint64_t seed, std::span<const Ranking> elsewhere,
                           LaunchCost cost)
    : untried_(untried), random_(seed), features_of_(untried.space()), cost_(std::move(cost)) {
  for (const Ranking& ranking : elsewhere) {
    if (TimesElsewhere::is_enough(ranking) && rankings_.size() < kMostElsewhere) {
      rankings_.push_back(ranking);
    }
  }
}

std::optional<ConfigurationIndex> LikelyBetter::ask() {
  if (!can_learn() || untried_.is_mostly_taken()) return std::nullopt;
  learn();
  const std::optional<ConfigurationIndex> found = most_promising();
  if (found) untried_.take(*found);
  return found;
}

std::optional<double> LikelyBetter::expected_below(double time_ms) {
  if (!can_learn() || !untried_.space().is_listed()) return std::nullopt;
  learn();
  const double level = value(time_ms);
  double sum = 0;
  std::size_t untried = 0;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!untried_.contains(candidates_[i])) continue;
    sum += process_.probability_below(i, level);
    ++untried;
  }
  if (untried == 0) return std::nullopt;
  const std::uint64_t left = untried_.space().size() - untried_.taken();
  return sum * static_cast<double>(left) / static_cast<double>(untried);
}

bool LikelyBetter::can_learn() const {
  return told_.size() >= kFirstLearnt + fast_elsewhere_ && timed_ >= kLeastTimed;
}

void LikelyBetter::tell(ConfigurationIndex configuration, std::optional<double> time_ms) {
  std::erase(asked_, configuration);
  told_.push_back({.configuration = configuration, .time_ms = time_ms});
  if (!time_ms) return;
  ++timed_;
  best_ms_ = std::min(best_ms_.value_or(*time_ms), *time_ms);
}

void LikelyBetter::learn() {
  while (elsewhere_.size() < rankings_.size()) {  // Some searches end before they learn.
    elsewhere_.emplace_back(rankings_[elsewhere_.size()], untried_.space(), features_of_, random_);
  }
  if (cost_ && learnt_ == 0) set_cost_range();
  if (told_.size() >= fit_at_) {
    fit();
    set_candidates();
  }
  for (; learnt_ < told_.size(); ++learnt_) {
    const auto& [configuration, time_ms] = told_[learnt_];
    process_.add({.features = features(configuration), .value = value(time_ms)});
  }
  // Unless all are candidates, the neighbors of a new best are missing.
  if (!all_are_candidates() && best_of_candidates_ms_ != best_ms_) set_candidates();
}

void LikelyBetter::fit() {
  const std::vector<Told> sorted = fastest_first();
  if (!(slow_ms_ > 0)) slow_ms_ = *sorted[timed_ / 2].time_ms;
  std::vector<GaussianProcess::Sample> samples;
  for (const std::size_t i : GaussianProcess::selection(sorted.size())) {
    samples.push_back(
        {.features = features(sorted[i].configuration), .value = value(sorted[i].time_ms)});
  }
  process_.fit(std::move(samples), random_);
  learnt_ = told_.size();
  fit_at_ = static_cast<std::size_t>(kFitAfter * static_cast<double>(told_.size()));
}

/// Returns the results sorted by time, failures last.
std::vector<LikelyBetter::Told> LikelyBetter::fastest_first() const {
  std::vector<Told> sorted = told_;
  std::ranges::stable_sort(sorted, {},
                           [](const Told& told) { return told.time_ms.value_or(HUGE_VAL); });
  return sorted;
}

bool LikelyBetter::all_are_candidates() const {
  return untried_.lists_few() && untried_.space().size() <= kDrawnCandidates;
}

void LikelyBetter::set_candidates() {
  candidates_.clear();
  if (all_are_candidates()) {
    for (ConfigurationIndex i = 0; i < untried_.space().size(); ++i) {
      if (untried_.contains(i)) candidates_.push_back(i);
    }
  } else {
    for (std::size_t i = 0; i < kDrawnCandidates; ++i) {
      if (const auto drawn = untried_.draw(random_)) candidates_.push_back(*drawn);
    }
    const std::vector<Told> sorted = fastest_first();
    for (std::size_t i = 0; i < std::min(timed_, kBeside); ++i) {
      std::ranges::copy(untried_.neighbors(sorted[i].configuration),
                        std::back_inserter(candidates_));
    }
  }
  for (TimesElsewhere& place : elsewhere_) place.estimate(candidates_);
  std::vector<std::vector<float>> places;
  for (const ConfigurationIndex candidate : candidates_) places.push_back(features(candidate));
  process_.set_candidates(places);
  best_of_candidates_ms_ = best_ms_;
}

std::optional<ConfigurationIndex> LikelyBetter::most_promising() {
  std::vector<std::vector<float>> asked;
  for (const ConfigurationIndex configuration : asked_) asked.push_back(features(configuration));
  std::optional<ConfigurationIndex> most;
  double most_expected = 0;
  const double best = value(best_ms_);
  const double doubt = asked.empty() ? kDoubt : 1;
  const double noise_share = told_.size() >= kNoiseAfter ? kNoiseShare : 0;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    double expected = process_.expected_improvement(i, best, most_expected, doubt, noise_share);
    if (!(expected > most_expected) || !untried_.contains(candidates_[i])) continue;
    const std::vector<float> place = features(candidates_[i]);
    for (const std::vector<float>& other : asked) expected *= 1 - process_.likeness(place, other);
    if (!(expected > most_expected)) continue;
    most = candidates_[i];
    most_expected = expected;
  }
  return most;
}

std::vector<float> LikelyBetter::features(ConfigurationIndex configuration) {
  std::vector<float> features = features_of_.scaled(untried_.space().value_indices(configuration));
  for (TimesElsewhere& place : elsewhere_) features.push_back(place(configuration));
  if (most_log_cost_ > least_log_cost_) {
    const double share =
        (log_cost(configuration) - least_log_cost_) / (most_log_cost_ - least_log_cost_);
    features.push_back(static_cast<float>(std::clamp(share, -1.0, 2.0)));
  }
  return features;
}

double LikelyBetter::log_cost(ConfigurationIndex configuration) {
  const auto [known, is_new] = log_costs_.try_emplace(configuration);
  if (is_new) known->second = std::log(cost_(configuration, kUsualRegisters));
  return known->second;
}

void LikelyBetter::set_cost_range() {
  least_log_cost_ = HUGE_VAL;
  most_log_cost_ = -HUGE_VAL;
  for (const Told& told : told_) {
    const double cost = log_cost(told.configuration);
    if (!std::isfinite(cost)) continue;
    least_log_cost_ = std::min(least_log_cost_, cost);
    most_log_cost_ = std::max(most_log_cost_, cost);
  }
}

double LikelyBetter::value(std::optional<double> time_ms) const {
  return std::log(std::min(time_ms.value_or(slow_ms_), slow_ms_));
}

}  // namespace smemtune
