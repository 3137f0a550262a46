#pragma once

#include "tuner/engine/problem_state.h"

#include <optional>

namespace smemtune {

/// Why `result` cannot have taken the time that was measured (core/least_time.h); nullopt where it
/// can, or is not timed.
///
/// A metric may declare more work than must be done. The witness tells: the default of the
/// reference kernel or, where that is not searched, of the first kernel. Where the witness itself
/// is too fast for a metric, the metric is at fault: `state` remembers that, the user is told both
/// numbers, and no time is held against the metric. Until the witness is timed, only outputs count.
std::optional<Failure> too_fast(Tuning& tuning, ProblemState& state, const KernelOnProblems& kernel,
                                const Result& result);

/// Fails every result of the search that is too fast, and writes it down. What no witness spoke
/// against counts from here on.
void refuse_too_fast(Tuning& tuning, ProblemState& state);

}  // namespace smemtune
