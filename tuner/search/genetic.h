#pragma once

#include "tuner/core/random.h"
#include "tuner/search/kernel_search.h"
#include "tuner/search/untried.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace smemtune {

/// Keeps a population of the fastest configurations. Each question is a child of two of them:
/// crossed at one point, mutated, and moved to the nearest valid configuration.
class Genetic final : public KernelSearch {
 public:
  Genetic(Untried& untried, std::uint64_t seed) : untried_(untried), random_(seed) {}

  std::optional<ConfigurationIndex> ask() override;
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms) override;

 private:
  struct Member {
    ConfigurationIndex configuration;
    double time_ms;
  };

  const Member& parent();
  std::vector<std::size_t> child();
  std::optional<ConfigurationIndex> repaired(std::vector<std::size_t> values);

  Untried& untried_;
  RandomEngine random_;
  std::size_t first_asked_ = 0;
  std::vector<Member> population_;  ///< The fastest first.
};

}  // namespace smemtune
