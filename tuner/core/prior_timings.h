#pragma once

#include "tuner/core/result.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Largest number of PriorTimings that a search learns from.
inline constexpr std::size_t kMostPriorTimings = 4;

/// The best of a search that says what it may have missed.
struct PriorWinner {
  Configuration configuration;
  std::string cubin_sha256;
  Searched searched;
};

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
  /// The kernel's configuration that finals chose last among all kernels; nullopt if none was, or
  /// it is not known what they had been searched for.
  std::optional<PriorWinner> winner = std::nullopt;
  bool is_in_log = false;  ///< True for this device and problem in the run's own log.
};

}  // namespace smemtune
