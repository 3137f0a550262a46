#pragma once

#include "tuner/core/value.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Places that a search learns from.
inline constexpr std::size_t kMostFindings = 4;

/// How fast a kernel's configurations were elsewhere: on another device, for another problem.
struct Findings {
  std::string device;
  std::string kernel;
  Problem problem;
  /// How little the device has in common with the one that is tuned: 0 is the same model, 1 the
  /// same compute capability.
  int device_distance = 0;
  std::vector<std::pair<double, Configuration>> timed;  ///< Milliseconds; in any order.
};

}  // namespace smemtune
