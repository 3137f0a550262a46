#pragma once

#include "tuner/engine/problem_state.h"

#include <optional>

namespace smemtune {

/// Returns why `result` cannot have taken the time that was measured (core/roofline.h); nullopt
/// when it can, or when it is not timed.
///
/// A metric may declare more work than must be done. The witness shows that: the default of the
/// reference kernel or, when that is not searched, of the first kernel. When the witness itself is
/// too fast for a metric, the metric is wrong: `state` remembers that, the user is told both
/// numbers, and no time is rejected by that metric. Until the witness is timed, only outputs count.
std::optional<Failure> too_fast(Tuning& tuning, ProblemState& state, const KernelOnProblems& kernel,
                                const Result& result);

/// Fails every result of the search that is too fast, and stores that. Metrics that no witness has
/// refuted count from now on.
void refuse_too_fast(Tuning& tuning, ProblemState& state);

}  // namespace smemtune
