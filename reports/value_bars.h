#pragma once

#include "tuner/core/summary.h"

#include <cstddef>
#include <string>

namespace smemtune {

/// The narrowest terminal that bars are drawn for.
inline constexpr std::size_t kBarsColumns = 100;

/// For the winner's kernel and the parameters that matter most, a bar for each value: `#` up to the
/// share of the best speed that the median configuration with it has, `-` up to the best one's.
/// Lines that end with a newline; empty where there is too little to compare, or below
/// kBarsColumns.
std::string value_bars_text(const ProblemSummary& problem, std::size_t columns);

}  // namespace smemtune
