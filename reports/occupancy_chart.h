#pragma once

#include "tuner/core/occupancy_advice.h"

#include <cstddef>
#include <string>

namespace smemtune {

/// Size of a chart in characters.
struct ChartSize {
  std::size_t columns = 64;  ///< At least 16.
  std::size_t rows = 8;      ///< Rows of each chart, at least 2.
};

/// Returns three charts in plain ASCII: occupancy over threads per block, registers per thread and
/// shared memory, each with the other two held fixed. `*` marks the values in `needs`.
std::string occupancy_charts(const Device& device, const BlockNeeds& needs, const ChartSize& size);

}  // namespace smemtune
