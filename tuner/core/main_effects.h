#pragma once

#include "tuner/core/value.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// How the configurations that were measured had been chosen. A finding about those that a search
/// chose need not hold for the whole space, because a search prefers fast configurations.
enum class ChosenBy { search, chance, all, unknown };

/// Returns the stored word for reports: `search`, `chance`, `all`, `unknown`.
std::string to_text(ChosenBy chosen_by);

/// Describes the configurations: `960 timed configurations that the search chose`, `960 timed
/// configurations drawn at random`, `960 timed configurations, all of the space tried`; `960 timed
/// configurations` if how they were chosen is not known.
std::string timed_text(std::size_t configurations, ChosenBy chosen_by);

/// How much a parameter matters by itself.
struct MainEffect {
  std::string parameter;
  double explained = 0;            ///< Share of the variance of log time, from 0 to 1.
  std::size_t configurations = 0;  ///< Number of times from which the share was computed.
};

/// Fewest times from which effects are computed.
inline constexpr std::size_t kFewestTimes = 12;

/// Computes which parameters of some configurations matter, from times that were measured anyway.
class MainEffects {
 public:
  explicit MainEffects(std::span<const Configuration* const> configurations);

  /// Returns the effects of the parameters that have several values among the configurations that
  /// ran, but fewer values than there are times, the most important first: the share of the
  /// variance of log time that lies between the means of a parameter's values, less what chance
  /// would put there (epsilon squared; Kelley 1935). These are the main effects of functional
  /// ANOVA, except that parameters which constraints tie together each get the share they have in
  /// common, so that the shares may add up to more than 1. Empty if there are fewer than
  /// kFewestTimes, or not two more than such parameters. `ms`: times of the configurations; those
  /// that are not finite are left out.
  std::vector<MainEffect> of(std::span<const double> ms) const;

 private:
  struct Levels {
    std::string parameter;
    /// Number of each configuration's value; `count` if it has none.
    std::vector<std::size_t> of_configuration;
    std::size_t count = 0;
  };
  std::vector<Levels> parameters_;
};

}  // namespace smemtune
