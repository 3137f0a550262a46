#pragma once

#include "tuner/core/summary.h"
#include "tuner/engine/problem_state.h"

#include <optional>
#include <string>
#include <vector>

// Conclusions from all results of a problem.

namespace smemtune {

/// Returns what the search may have missed; nullopt where it evaluated everything, timed nothing, or
/// was told what to evaluate.
std::optional<Unfinished> unfinished(const Tuning& tuning, const ProblemState& state);

/// Returns what of that is kept with the winner; nullopt also where not all of the space was
/// allowed.
std::optional<Searched> searched(const Tuning& tuning, const ProblemState& state);

/// Returns which of the fastest 1 % static rejects would have kept from being timed.
StaticRejects would_be_lost(const ProblemState& state);

/// Returns a sentence for each parameter without effect: configurations that differ only in its
/// value always had the same identity (code, launches and arguments). A sample of the space must
/// contain several such pairs for that, and so must new results beside known ones, whose code is
/// not at hand.
std::vector<std::string> without_effect(const ProblemState& state);

/// Reports that, for a reference kernel of which only its own default vouches for correctness, more
/// of the other configurations agree with each other against the default than agree with the
/// default; nullopt otherwise.
std::optional<DefaultInDoubt> default_in_doubt(const ProblemState& state);

/// Returns a sentence when the reference's default was rejected as a configuration although the
/// others were compared with its results; nullopt when it was not.
std::optional<std::string> rejected_reference(const ProblemState& state);

}  // namespace smemtune
