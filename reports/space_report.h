#pragma once

#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/space.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Statistics of a kernel's search space for one problem and device.
struct SpaceSurvey {
  std::string kernel;
  Problem problem;
  std::string device;
  double cartesian = 0;     ///< Number of points in the product of all values.
  bool is_listed = true;    ///< True if the valid points could be counted.
  std::uint64_t valid = 0;  ///< Number of points that satisfy the constraints.
  /// How many more points would be valid without the constraint; nullopt if they cannot be counted.
  struct Constraint {
    std::string text;
    std::optional<std::uint64_t> removes;
  };
  std::vector<Constraint> constraints = {};
  /// Number of configurations that were checked against the device's limits: all, or a random
  /// sample.
  std::uint64_t looked_at = 0;
  std::uint64_t fit = 0;
  /// Number of configurations that exceed a limit, by the limit's name.
  std::vector<std::pair<std::string, std::uint64_t>> beyond_limits = {};
  struct Values {
    std::string name;
    /// Number of configurations that fit, by value.
    std::vector<std::pair<std::string, std::uint64_t>> left;
  };
  std::vector<Values> parameters = {};
  std::vector<Configuration> samples = {};  ///< Some of the configurations that fit.
};

/// Throws InputError like KernelBinding.
SpaceSurvey survey(const Space& space, const KernelTemplate& kernel, const Problem& problem,
                   const Device& device, std::size_t samples, std::uint64_t seed);

std::string space_text(std::span<const SpaceSurvey> surveys);
std::string space_json(std::span<const SpaceSurvey> surveys);

}  // namespace smemtune
