#pragma once

#include "tuner/engine/problem_state.h"
#include "tuner/engine/race.h"
#include "tuner/engine/tuning_options.h"

#include <cstddef>
#include <functional>

namespace smemtune {

/// Returns how many seconds of a time budget to keep for what follows each problem's times: the
/// check on the CPU device, and the energy of its finalists.
double ending_reserve_s(const TuningRequest& request);

/// How the finals race, but for what depends on how long the variants take. `several_units`: what
/// is raced was screened on several boards.
RaceOptions race_options(const TuningOptions& options, bool several_units = false);

/// Returns the most rounds of each block of the finals when one keeps the device for `round_s` and
/// all of them may for `most_s` at most (0: only the options decide).
std::size_t final_rounds(const TuningOptions& options, double round_s, double most_s = 0);

/// Goes on with the finals of a problem that the device is done with, as far as that takes at most
/// `wait_s` of waiting: the CPU device looks at those that would win, while the run goes on with
/// another problem. Returns whether the summary's best, ties and noise are set.
using FinalsStep = std::function<bool(double wait_s)>;

/// Races what is correct. Without a device or when stop is asked for, the best is the fastest that is
/// known. `before_race`: called before anything is raced. `tuning` and `state` must outlive what is
/// returned.
FinalsStep run_finals(Tuning& tuning, ProblemState& state,
                      const std::function<void()>& before_race);

}  // namespace smemtune
