#pragma once

#include "tuner/core/expression.h"
#include "tuner/core/result.h"

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// Something that is known of a result, by the name that an objective has for it.
struct ResultFigure {
  std::string name;
  std::function<std::optional<double>(const Result&)> of;
  std::string kind = {};  ///< The kind of facts that it is from (facts.h); empty: of none.
};

/// Returns the figures that an objective may use: `time`, `energy`, ..., facts of counters and
/// energy, and these metrics of the space.
std::vector<ResultFigure> result_figures(const std::set<std::string>& metrics = {});

/// An expression over figures of a result that ranks a run's finalists, the less the better. Which
/// one is the best is decided by time alone (ranking.h).
class Objective {
 public:
  /// Throws InputError, which lists all names where the text is no expression over figures.
  explicit Objective(const std::string& text = "time", const std::set<std::string>& metrics = {});

  const std::string& text() const { return expression_.text(); }
  bool is_time() const { return text() == "time"; }

  /// Returns whether it uses facts of a kind (facts.h).
  bool uses(const std::string& kind) const;

  /// Returns nullopt if a figure is not known of the result, or the expression has no value for it.
  std::optional<double> value(const Result& result) const;

  /// Returns the names of the figures that are not known of the result.
  std::vector<std::string> unknown_of(const Result& result) const;

 private:
  std::vector<ResultFigure> figures_;  ///< Those of all slots; only some are used.
  Expression expression_;
};

/// Returns a fact of the energy of a result, by its name without the prefix; nullopt if it was not
/// measured.
std::optional<double> energy_fact(const Result& result, const std::string& name);

/// Returns the joules of a launch of the whole kernel; nullopt if they were not measured.
std::optional<double> joules_of(const Result& result);

/// Returns whether a result may be ranked by an objective: a finalist, or one whose energy was
/// measured.
bool can_be_ranked(const Result& result);

/// Returns those that can be ranked and have a value, the one with the least value first; of equal
/// ones the faster. The only place that ranks by an objective.
std::vector<const Result*> ranked_by(const Objective& objective,
                                     std::span<const Result* const> results);

/// Returns those whose energy was measured that none is better than, taking less time and no more
/// energy, or less energy and no more time. The fastest comes first.
std::vector<const Result*> pareto_front(std::span<const Result* const> results);

}  // namespace smemtune
