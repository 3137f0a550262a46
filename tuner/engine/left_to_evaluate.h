#pragma once

#include "tuner/engine/problem_state.h"
#include "tuner/engine/seen_times.h"

#include <set>
#include <span>

// The candidates that are left to evaluate when a search has ended, chosen by its entries.

namespace smemtune {

/// Returns, of each kernel, the fastest that was given up early and may be its best after all,
/// because what it lost to turned out not to stand; and the default that the best is compared with,
/// if that was given up. `times`: by kernel.
std::set<Candidate> given_up_too_early(const ProblemState& state, std::span<const SeenTimes> times);

/// Returns what is one step of one parameter away from the fastest three, as far as they are within
/// LastGain::kGain of the fastest, and was not evaluated.
std::set<Candidate> beside_fastest(const ProblemState& state);

}  // namespace smemtune
