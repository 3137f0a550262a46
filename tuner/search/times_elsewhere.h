#pragma once

#include "tuner/core/configuration_features.h"
#include "tuner/core/gaussian_process.h"
#include "tuner/core/random.h"
#include "tuner/core/search_space.h"
#include "tuner/search/strategy.h"

#include <span>
#include <unordered_map>

namespace smemtune {

/// Says how fast configurations are at another place, for another problem or on another device: as
/// measured there, else as a Gaussian process expects from what was measured.
class TimesElsewhere {
 public:
  /// Returns whether enough configurations were measured there to expect something of others.
  static bool is_enough(const Ranking& ranking);

  /// Learns from a ranking that is_enough(). Keeps references to `space` and `features`.
  TimesElsewhere(const Ranking& ranking, const SearchSpace& space,
                 const ConfigurationFeatures& features, RandomEngine& random);

  /// Estimates those configurations that were not measured there, many together in less time than
  /// one by one.
  void estimate(std::span<const ConfigurationIndex> configurations);

  /// Returns the logarithm of the configuration's time there, from 0 for the fastest to 1 for
  /// four times that and more.
  float operator()(ConfigurationIndex configuration);

 private:
  std::vector<float> place(ConfigurationIndex configuration) const {
    return features_->scaled(space_->value_indices(configuration));
  }

  const SearchSpace* space_;
  const ConfigurationFeatures* features_;
  std::unordered_map<ConfigurationIndex, float> known_;  ///< Measured or estimated.
  GaussianProcess process_;
};

}  // namespace smemtune
