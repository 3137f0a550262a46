#pragma once

#include "tuner/core/occupancy_advice.h"

#include <cstddef>
#include <string>

namespace smemtune {

/// How large to draw, in characters.
struct ChartSize {
  std::size_t columns = 64;  ///< At least 16.
  std::size_t rows = 8;      ///< Of each chart, at least 2.
};

/// Occupancy against threads, against registers and against shared memory, each with the others as
/// they are: three charts of plain ASCII, where `*` stands for what is asked about.
std::string occupancy_charts(const Device& device, const BlockNeeds& needs, const ChartSize& size);

}  // namespace smemtune
