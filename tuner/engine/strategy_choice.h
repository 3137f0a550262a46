#pragma once

#include "tuner/engine/problem_state.h"
#include "tuner/search/strategy.h"

#include <memory>

namespace smemtune {

/// Who says what of a problem is evaluated next: what the request names, else the strategy that it
/// asks for, which is told what is known of other problems and devices; in a dry run, where nothing
/// is learnt, `random`. Says in notes what it was told.
std::unique_ptr<Strategy> strategy_of(const Tuning& tuning, const ProblemState& state);

}  // namespace smemtune
