#pragma once

#include "tuner/core/summary.h"

#include <cstddef>
#include <string>

namespace smemtune {

/// Minimum width of a terminal for which bars are drawn.
inline constexpr std::size_t kBarsColumns = 100;

/// Returns a bar for each value of the parameters that matter most in the winner's kernel. `#`
/// extends to the share of the best speed that the median configuration with this value reaches,
/// `-` to the share that the best one reaches. Each line ends with a newline. Empty if there is too
/// little to compare, or if the terminal is narrower than kBarsColumns.
std::string value_bars_text(const ProblemSummary& problem, std::size_t columns);

}  // namespace smemtune
