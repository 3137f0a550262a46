#pragma once

#include "tuner/core/summary.h"
#include "tuner/engine/problem_state.h"

#include <optional>
#include <string>
#include <vector>

// What the results of a problem say together, when all of them are there.

namespace smemtune {

/// What the search may have left; nullopt where it left nothing, timed nothing, or was told what to
/// evaluate. REQUIRES: entries are in the order told.
std::optional<Unfinished> unfinished(const Tuning& tuning, const ProblemState& state);

/// Which of the fastest 1 % static rejects would have kept from being timed.
StaticRejects would_be_lost(const ProblemState& state);

/// Parameters of which all values that were tried gave the same code, launches and arguments: what
/// differs in one of them only has one identity. A sample says so only after some such pairs, as do
/// those that are new beside known ones, whose code is not at hand.
std::vector<std::string> without_effect(const ProblemState& state);

/// Of a reference kernel that nothing but its own default says to be right: whether more of its
/// other configurations agree with each other against the default than agree with it.
std::optional<DefaultInDoubt> default_in_doubt(const ProblemState& state);

/// That the reference's default was rejected as a configuration, and that the others were compared
/// with its results all the same; nullopt where it was not.
std::optional<std::string> rejected_reference(const ProblemState& state);

}  // namespace smemtune
