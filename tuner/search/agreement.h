#pragma once

#include "tuner/core/search_space.h"
#include "tuner/search/strategy.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace smemtune {

/// Measures how far the ranking of another place holds here: the share of pairs of configurations
/// measured here that the ranking orders correctly, each pair weighted by the distance of its two
/// in the ranking. Before anything is measured, the ranking is assumed to hold for most pairs.
class Agreement {
 public:
  explicit Agreement(const Ranking& ranking);

  /// Records a result; nullopt: it failed, and counts as slower than all that did not. Only the
  /// first hundred configurations that the ranking contains are compared.
  void tell(ConfigurationIndex configuration, std::optional<double> time_ms);

  /// Returns the share, from 0 to 1; about a half when the ranking says nothing.
  double share() const;

  /// Returns how near the top the ranking has the configuration: from 1, the fastest, to almost 0;
  /// 0 when it does not contain it.
  float nearness(ConfigurationIndex configuration) const;

 private:
  struct Told {
    double rank = 0;  ///< From 0, the fastest there, to almost 1, the slowest.
    std::optional<double> time_ms;
  };

  std::unordered_map<ConfigurationIndex, double> ranks_;
  std::vector<Told> told_;
  double right_ = 0;
  double all_ = 0;
};

}  // namespace smemtune
