#pragma once

#include "tuner/core/configuration_features.h"
#include "tuner/core/decision_forest.h"
#include "tuner/core/random.h"
#include "tuner/search/agreement.h"
#include "tuner/search/kernel_search.h"
#include "tuner/search/untried.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smemtune {

/// Asks for configurations that most resemble the fastest measured ones: a few trees separate those
/// from the rest, failures included. The trees are grown anew for every question, so that questions
/// asked before any answer differ. The first questions lie far from each other; some later ones are
/// random; after a leap a few are about the neighbors of the new best.
class Forest final : public KernelSearch {
 public:
  /// `elsewhere`: rankings that serve as features like the parameters, but each only for a share of
  /// the questions that depends on its agreement. They must outlive the forest.
  Forest(Untried& untried, std::uint64_t seed, std::span<const Agreement> elsewhere = {})
      : untried_(untried), random_(seed), features_of_(untried.space()), elsewhere_(elsewhere) {}

  std::optional<ConfigurationIndex> ask() override;
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms) override;

 private:
  struct Told {
    ConfigurationIndex configuration;
    std::optional<double> time_ms;
    std::vector<float> features;
  };

  /// A configuration and its distance to the nearest that was asked for as distant.
  struct Distant {
    ConfigurationIndex configuration;
    std::vector<float> place;
    float distance;
  };

  /// The candidates: all of a small space, else random ones and neighbors of the best.
  struct Pool {
    std::vector<ConfigurationIndex> configurations;
    std::vector<float> features;  ///< `width` for each configuration.
    std::size_t width = 0;

    std::span<const float> row(std::size_t i) const {
      return std::span(features).subspan(i * width, width);
    }
    void add(ConfigurationIndex configuration, std::span<const float> row);
    void remove(std::size_t i);
  };

  std::optional<ConfigurationIndex> take_distant();
  void note_place(ConfigurationIndex configuration);
  std::optional<ConfigurationIndex> take_likely();
  std::optional<ConfigurationIndex> take_beside_best(const DecisionForest& forest);
  DecisionForest grown();
  std::vector<std::vector<float>> only_trusted(std::vector<DecisionForest::Sample>& samples);
  void fill_pool();
  void add_to_pool(ConfigurationIndex configuration);
  void add_neighbors_of_best();

  std::size_t positives() const;
  std::vector<float> features(ConfigurationIndex configuration) const;
  std::vector<float> place(ConfigurationIndex configuration) const {
    return features_of_.scaled(untried_.space().value_indices(configuration));
  }

  Untried& untried_;
  RandomEngine random_;
  ConfigurationFeatures features_of_;
  std::span<const Agreement> elsewhere_;  ///< Their features come last.
  std::size_t distant_asked_ = 0;
  std::vector<Distant> distant_;
  std::vector<Told> told_;       ///< The fastest first, failures last.
  std::size_t timed_ = 0;        ///< How many of `told_` did not fail.
  std::size_t beside_best_ = 0;  ///< Questions left for neighbors of the best.
  Pool pool_;
  /// Configurations whose neighbors were added to the pool.
  std::vector<ConfigurationIndex> expanded_;
};

}  // namespace smemtune
