#pragma once

#include "tuner/core/value.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// How configurations came to be measured. What holds for all that a search chose need not hold for
/// the space: it prefers fast ones.
enum class ChosenBy { search, chance, all };

/// `search`, `chance`, `all`: stored words of reports.
std::string to_text(ChosenBy chosen_by);

/// `960 timed configurations that the search chose`, `960 timed configurations drawn at random`,
/// `960 timed configurations, all of the space tried`.
std::string timed_text(std::size_t configurations, ChosenBy chosen_by);

/// How much a parameter matters by itself.
struct MainEffect {
  std::string parameter;
  double explained = 0;            ///< Share of the variance of log time, from 0 to 1.
  std::size_t configurations = 0;  ///< So many times it follows from.
};

/// Of fewer times nothing is said.
inline constexpr std::size_t kFewestTimes = 12;

/// Which parameters of some configurations matter, by times that were measured anyhow.
class MainEffects {
 public:
  explicit MainEffects(std::span<const Configuration* const> configurations);

  /// Of each parameter that has several values among what ran, and fewer than there are times, the
  /// most important first: the share of the variance of log time that lies between the means of its
  /// values, less what chance would put there (epsilon squared; Kelley 1935). As functional ANOVA's
  /// main effects, but where constraints tie parameters to each other each has what they share, so
  /// that the shares may add up to more than 1. Empty where there are fewer than kFewestTimes, or
  /// not two more than such parameters. `ms`: of the configurations; what is not finite is left out.
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
