#pragma once

#include "tuner/core/search_space.h"
#include "tuner/search/strategy.h"

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

namespace smemtune {

/// How far the ranking of another place holds here: of the pairs of configurations that were
/// measured here, the share that it has in the right order, where a pair counts the more the
/// farther apart it has the two. Before anything was measured it is taken to hold for most.
class Agreement {
 public:
  explicit Agreement(const Ranking& ranking);

  /// Nullopt: it failed, and counts as slower than all that did not. No more than the first hundred
  /// that the ranking has are compared.
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms);

  /// 0 to 1; about a half where the ranking says nothing.
  double share() const;

  /// How near to the top it is there: from 1, the fastest, to almost 0; 0: not known there.
  float nearness(ConfigurationIndex configuration) const;

 private:
  struct Told {
    double rank = 0;  ///< 0: the fastest there, 1: the slowest.
    std::optional<double> time_ms;
  };

  std::unordered_map<ConfigurationIndex, double> ranks_;
  std::vector<Told> told_;
  double right_ = 0;
  double all_ = 0;
};

}  // namespace smemtune
