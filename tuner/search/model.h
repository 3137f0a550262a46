#pragma once

#include "tuner/core/configuration_features.h"
#include "tuner/core/random.h"
#include "tuner/search/kernel_search.h"
#include "tuner/search/strategy.h"
#include "tuner/search/untried.h"

#include <optional>
#include <vector>

namespace smemtune {

/// Asks for the cheapest of a few drawn configurations, by their launches and by the registers that
/// ptxas reported for the most similar one. Random when nothing is known of launches.
class Model final : public KernelSearch {
 public:
  Model(const SearchedKernel& kernel, Untried& untried, std::uint64_t seed)
      : cost_(kernel.cost), untried_(untried), random_(seed), features_of_(untried.space()) {}

  std::optional<ConfigurationIndex> ask() override;
  void tell(ConfigurationIndex /*configuration*/, std::optional<double> /*time_ms*/) override {}
  void tell_registers(ConfigurationIndex configuration, int registers) override;

 private:
  struct Compiled {
    std::vector<float> place;
    int registers = 0;
  };

  int registers_near(ConfigurationIndex configuration) const;
  std::vector<float> place(ConfigurationIndex configuration) const {
    return features_of_.scaled(untried_.space().value_indices(configuration));
  }

  LaunchCost cost_;
  Untried& untried_;
  RandomEngine random_;
  ConfigurationFeatures features_of_;
  std::vector<Compiled> compiled_;
};

}  // namespace smemtune
