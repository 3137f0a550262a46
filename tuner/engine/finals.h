#pragma once

#include "tuner/engine/problem_state.h"
#include "tuner/engine/race.h"
#include "tuner/engine/tuning_options.h"

#include <cstddef>

namespace smemtune {

/// Returns how many seconds of a time budget to keep for what follows each problem's times: the
/// check on the CPU device, and the energy of its finalists.
double ending_reserve_s(const TuningRequest& request);

/// How the finals race, but for what depends on how long the variants take. `several_units`: what
/// is raced was screened on several boards.
RaceOptions race_options(const TuningOptions& options, bool several_units = false);

/// Rounds of each block of the finals when one keeps the device for `round_s` and all of them may
/// for `most_s` at most (0: only the options decide).
std::size_t final_rounds(const TuningOptions& options, double round_s, double most_s = 0);

/// Races what is correct and sets the summary's best, ties and noise. Without a device or when stop
/// is asked for, the best is the fastest that is known.
void run_finals(Tuning& tuning, ProblemState& state);

}  // namespace smemtune
