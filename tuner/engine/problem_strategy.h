#pragma once

#include "tuner/engine/problem_state.h"
#include "tuner/engine/searched_before.h"
#include "tuner/search/strategy.h"

#include <memory>
#include <vector>

namespace smemtune {

/// Returns true if what a run asks for next depends on results.
bool learns(const Tuning& tuning);

/// Returns a strategy that asks for these configurations, in this order.
std::unique_ptr<Strategy> listed(const ProblemState& state,
                                 const std::vector<KernelConfiguration>& only);

/// Returns how much faster, in percent, something must probably not be for the search to end by
/// itself; 0 where it does not.
double until_percent(const Tuning& tuning, const ProblemState& state);

/// Returns the configurations of a kernel that the log has results of for the problem.
std::vector<Configuration> known_configurations(const Tuning& tuning, const ProblemState& state,
                                                const KernelOnProblems& kernel);

/// A problem's search before its first question.
struct PlannedSearch {
  SearchedBefore before = {};
  std::unique_ptr<Strategy> strategy;
  std::string told = {};  ///< A line for people on what it was told of elsewhere; may be empty.
};

/// Chooses what to evaluate next of a problem: by the list that the request names, else by the
/// strategy that it asks for, which is told what is known of other problems and devices. A dry run,
/// where nothing is learnt, uses `random`.
PlannedSearch plan_search(Tuning& tuning, const ProblemState& state);

}  // namespace smemtune
