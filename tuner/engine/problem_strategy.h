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

/// Returns the strategy that chooses what to evaluate next of a problem: the list that the request
/// names, else the strategy that it asks for, which is told what is known of other problems and
/// devices. A dry run, where nothing is learnt, uses `random`. Notes what the strategy was told.
std::unique_ptr<Strategy> strategy_of(const Tuning& tuning, const ProblemState& state,
                                      const SearchedBefore& before);

}  // namespace smemtune
