#pragma once

#include "tuner/core/device.h"
#include "tuner/core/objective.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <cstddef>
#include <string>

namespace smemtune {

/// Tells people what a run found: per problem each kernel's best and default side by side, which
/// configuration won, why, what it is tied with, and what was rejected for which reason.
/// Finalists whose energy was measured are ranked by the objective; what is called the best is so by
/// time.
std::string summary_text(const Space& space, const TuningSummary& summary, const Device& device,
                         const Objective& objective = Objective());

/// Where a best was compared with nothing but itself, as loud as what is said of the CPU device;
/// else empty.
std::string unverified_warning(const Space& space, const TuningSummary& summary);

/// "gemm  K=1024,M=1024,N=1024  on NVIDIA H200 (sm_90, 132 SMs)" and how much was evaluated.
std::string summary_heading(const Space& space, const ProblemSummary& problem,
                            const Device& device);

/// A warning for each parameter that changes nothing.
std::string without_effect_lines(const ProblemSummary& problem);

/// Returns the result of a dry run as text: resources and occupancy of every configuration that
/// fits, and why the others are rejected.
std::string dry_run_text(const Space& space, const TuningSummary& summary, const Device& device);

/// A row per kernel, its best, in two tables of at most 160 columns. How fast it is: time, speed-up
/// over the first kernel's default, where the articles begin, and over its own default, rates, and
/// on a GPU the share of what its clocks and widths allow. What it takes: shared memory, registers,
/// stack, spills, occupancy. `*` marks the winner.
std::string kernel_table_text(const Space& space, const ProblemSummary& problem,
                              const Device& device);

}  // namespace smemtune
