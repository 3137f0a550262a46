#pragma once

#include "tuner/core/kernel_binding.h"

#include <cstddef>
#include <vector>

namespace smemtune {

/// Returns the time of each of a kernel's `launches`, all its repetitions together, in ms: the
/// median over passes; 0 for one that was never launched. REQUIRES: there is a pass, and each pass
/// has a time for every turn.
std::vector<double> launch_times_ms(const std::vector<Turn>& turns, std::size_t launches,
                                    const std::vector<std::vector<double>>& passes_ms);

}  // namespace smemtune
