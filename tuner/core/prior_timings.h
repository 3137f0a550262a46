#pragma once

#include "tuner/core/value.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Largest number of PriorTimings that a search learns from.
inline constexpr std::size_t kMostPriorTimings = 4;

/// Times of a kernel's configurations measured elsewhere: on another device, or for another
/// problem.
struct PriorTimings {
  std::string device;
  std::string kernel;
  Problem problem;
  /// Distance of the device from the one that is tuned: 0 for the same model, 1 for the same
  /// compute capability, more for others.
  int device_distance = 0;
  std::vector<std::pair<double, Configuration>> timed;  ///< Times in milliseconds, in any order.
};

}  // namespace smemtune
