#pragma once

#include "tuner/core/configuration_features.h"
#include "tuner/core/gaussian_process.h"
#include "tuner/core/random.h"
#include "tuner/search/kernel_search.h"
#include "tuner/search/strategy.h"
#include "tuner/search/times_elsewhere.h"
#include "tuner/search/untried.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace smemtune {

/// Asks for the configuration with the largest expected improvement over the best, by a Gaussian
/// process over logarithms of times, which knows how uncertain it is where nothing was tried. Its
/// features are the parameters, times at other places, and the cost that is predicted of launches. Times
/// slower than the median of the first ones are cut to that median: differences among slow ones are
/// of no interest, and failures count as slow. Answers only once some were timed, and until half of
/// a small space is tried.
class LikelyBetter final : public KernelSearch {
 public:
  /// `elsewhere`: what is known of other places, the most similar first; those of which much is known
  /// count as features. So does `cost`, unless it is empty.
  LikelyBetter(Untried& untried, std::uint64_t seed, std::span<const Ranking> elsewhere = {},
               LaunchCost cost = {});

  std::optional<ConfigurationIndex> ask() override;
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms) override;

  std::optional<double> expected_below(double time_ms) override;
  bool has_times_elsewhere() const { return !rankings_.empty(); }

  /// Records that another search has asked for a configuration: similar ones are avoided until its
  /// result is told.
  void note_asked(ConfigurationIndex configuration) { asked_.push_back(configuration); }

  /// Records that the last question was about a configuration that was fast elsewhere, and so not
  /// one of the first ones that sample the space.
  void note_fast_elsewhere() { ++fast_elsewhere_; }

 private:
  struct Told {
    ConfigurationIndex configuration = 0;
    std::optional<double> time_ms;
  };

  std::vector<Told> fastest_first() const;
  std::vector<float> features(ConfigurationIndex configuration);
  double value(std::optional<double> time_ms) const;
  double log_cost(ConfigurationIndex configuration);
  void set_cost_range();
  void learn();
  void fit();
  bool can_learn() const;
  bool all_are_candidates() const;
  void set_candidates();
  std::optional<ConfigurationIndex> most_promising();

  Untried& untried_;
  RandomEngine random_;
  ConfigurationFeatures features_of_;
  std::vector<Ranking> rankings_;          ///< Rankings of places where enough was measured.
  std::vector<TimesElsewhere> elsewhere_;  ///< Their times; empty before anything is learnt.
  LaunchCost cost_;
  std::unordered_map<ConfigurationIndex, double> log_costs_;
  double least_log_cost_ = 0;  ///< Range of those that were told first.
  double most_log_cost_ = 0;
  std::vector<ConfigurationIndex> asked_;  ///< Configurations whose results are not told yet.
  std::vector<Told> told_;
  std::size_t timed_ = 0;
  std::size_t fast_elsewhere_ = 0;  ///< Questions about those that were fast elsewhere.
  std::optional<double> best_ms_;
  double slow_ms_ = 0;  ///< Median of the first times.
  GaussianProcess process_;
  std::size_t learnt_ = 0;  ///< How many of `told_` the process knows.
  std::size_t fit_at_ = 0;  ///< Number told at which it is fitted next.
  std::vector<ConfigurationIndex> candidates_;
  std::optional<double> best_of_candidates_ms_;  ///< The best time when the candidates were chosen.
};

}  // namespace smemtune
