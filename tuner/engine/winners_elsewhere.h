#pragma once

#include "tuner/engine/problem_state.h"

namespace smemtune {

/// The share of a run's time that time_winners_elsewhere() may take.
inline constexpr double kElsewhereShare = 0.05;

/// Returns the request's budget, of whose times kElsewhereShare is kept for
/// time_winners_elsewhere() where there are several problems.
Budget budget_of_problems(const TuningRequest& request);

/// Measures the winner of each problem for the run's other problems, where neither this run nor an
/// earlier one has: with these times select() predicts for further sizes, and portfolios are chosen.
/// Takes at most kElsewhereShare of the time that the run has taken and what is left of its budget;
/// a problem that takes longer to prepare than is left is passed over. What fails here costs no more
/// than these times. REQUIRES: all problems are done, in the request's order.
void time_winners_elsewhere(Tuning& tuning);

}  // namespace smemtune
