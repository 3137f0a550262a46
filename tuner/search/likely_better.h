#pragma once

#include "tuner/core/configuration_features.h"
#include "tuner/core/gaussian_process.h"
#include "tuner/core/random.h"
#include "tuner/search/kernel_search.h"
#include "tuner/search/untried.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

/// Asks for what is expected to be ahead of the best by most, as a Gaussian process over logarithms
/// of times tells, which knows how little it knows where nothing was tried. All that is slower than
/// half of the first ones counts as these: what tells slow from slower is not of interest, and
/// failures are slow. Answers only once some were timed, and until half of a small space is tried.
class LikelyBetter final : public KernelSearch {
 public:
  LikelyBetter(Untried& untried, std::uint64_t seed)
      : untried_(untried), random_(seed), features_of_(untried.space()) {}

  std::optional<ConfigurationIndex> ask() override;
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms) override;

  /// Another search asks for this: what is like it is not asked for before it is told.
  void note_asked(ConfigurationIndex configuration) { asked_.push_back(configuration); }

  /// What was asked for last is not one of the first ones that show the space, as it was fast
  /// elsewhere.
  void note_fast_elsewhere() { ++fast_elsewhere_; }

 private:
  struct Told {
    ConfigurationIndex configuration = 0;
    std::optional<double> time_ms;
  };

  std::vector<Told> fastest_first() const;
  std::vector<float> features(ConfigurationIndex configuration) const;
  double value(std::optional<double> time_ms) const;
  void learn();
  void fit();
  bool all_are_candidates() const;
  void set_candidates();
  std::optional<ConfigurationIndex> most_promising() const;

  Untried& untried_;
  RandomEngine random_;
  ConfigurationFeatures features_of_;
  std::vector<ConfigurationIndex> asked_;  ///< And not told yet.
  std::vector<Told> told_;
  std::size_t timed_ = 0;
  std::size_t fast_elsewhere_ = 0;  ///< Of those asked for.
  std::optional<double> best_ms_;
  double slow_ms_ = 0;  ///< Of the first ones, half are slower.
  GaussianProcess process_;
  std::size_t learnt_ = 0;  ///< Of those told.
  std::size_t fit_at_ = 0;  ///< So many told, the next time.
  std::vector<ConfigurationIndex> candidates_;
  std::optional<double> best_of_candidates_ms_;  ///< The best when they were chosen.
};

}  // namespace smemtune
