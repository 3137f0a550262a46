#pragma once

#include "tuner/engine/problem_state.h"

#include <cstdint>
#include <vector>

namespace smemtune {

/// A problem's share of what is left of the run's budget.
struct ProblemBudget {
  std::uint64_t evaluations = UINT64_MAX;
  double until_s = 0;         ///< Time in the run at which to end; 0: no limit.
  double until_device_s = 0;  ///< The same for device_s().
};

/// Searches until nothing is left, the budget is spent or a stop is requested. Without a device it
/// only compiles and judges.
void search(Tuning& tuning, ProblemState& state, const ProblemBudget& budget);

/// Evaluates these configurations, in their order.
void search(Tuning& tuning, ProblemState& state, const ProblemBudget& budget,
            const std::vector<KernelConfiguration>& only);

}  // namespace smemtune
