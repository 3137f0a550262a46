#pragma once

#include "tuner/core/value.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// How much a parameter matters by itself.
struct MainEffect {
  std::string parameter;
  double explained = 0;  ///< Share of the variance of log time, from 0 to 1.
};

/// Which parameters of some configurations matter, by times that were measured anyhow.
class MainEffects {
 public:
  explicit MainEffects(std::span<const Configuration* const> configurations);

  /// Of each parameter that has several values among what ran, and fewer than there are times, the
  /// most important first: the share of the variance of log time that lies between the means of its
  /// values, less what chance would put there (epsilon squared; Kelley 1935). As functional ANOVA's
  /// main effects, but where constraints tie parameters to each other each has what they share, so
  /// that the shares may add up to more than 1. `ms`: of the configurations; what is not finite is
  /// left out.
  std::vector<MainEffect> of(std::span<const double> ms) const;

 private:
  struct Levels {
    std::string parameter;
    std::vector<std::size_t> of_configuration;  ///< Numbers of values; `count` for none.
    std::size_t count = 0;
  };
  std::vector<Levels> parameters_;
};

}  // namespace smemtune
