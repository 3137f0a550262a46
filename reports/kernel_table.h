#pragma once

#include "tuner/core/device.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <string>

namespace smemtune {

/// A row per kernel, its best, in two tables of at most 160 columns. How fast it is: time, speed-up
/// over the first kernel's default, where the articles begin, and over its own default, rates, and
/// on a GPU the share of what its clocks and widths allow. What it takes: shared memory, registers,
/// stack, spills, occupancy. `*` marks the winner.
std::string kernel_table_text(const Space& space, const ProblemSummary& problem,
                              const Device& device);

}  // namespace smemtune
