#pragma once

#include "tuner/core/random.h"
#include "tuner/search/kernel_search.h"
#include "tuner/search/untried.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

/// Iterated local search: starts at the best of a few random configurations, moves to the first
/// faster neighbor until none is faster, and restarts some parameters away from the best.
class Local final : public KernelSearch {
 public:
  Local(Untried& untried, std::uint64_t seed) : untried_(untried), random_(seed) {}

  std::optional<ConfigurationIndex> ask() override;
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms) override;

 private:
  struct Timed {
    ConfigurationIndex configuration;
    double time_ms;
  };

  void descend_from(const Timed& start);
  std::optional<ConfigurationIndex> take_away_from_best();

  Untried& untried_;
  RandomEngine random_;
  std::size_t first_asked_ = 0;
  std::optional<Timed> best_;
  std::optional<Timed> current_;
  std::vector<ConfigurationIndex> neighbors_;  ///< Neighbors of `current_`; taken from the back.
};

}  // namespace smemtune
