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

/// What a kernel's search space is made of, for one problem and device.
struct SpaceSurvey {
  std::string kernel;
  Problem problem;
  std::string device;
  double cartesian = 0;     ///< Points of the product of all values.
  bool is_listed = true;    ///< Whether the valid ones could be counted.
  std::uint64_t valid = 0;  ///< Of these, those that satisfy the constraints.
  /// How many more would be valid without this one; nullopt: they cannot be counted.
  struct Constraint {
    std::string text;
    std::optional<std::uint64_t> removes;
  };
  std::vector<Constraint> constraints = {};
  /// Configurations that were held against the limits of the device: all, or so many at random.
  std::uint64_t looked_at = 0;
  std::uint64_t fit = 0;
  std::vector<std::pair<std::string, std::uint64_t>> beyond_limits = {};  ///< By the limit's word.
  struct Values {
    std::string name;
    std::vector<std::pair<std::string, std::uint64_t>>
        left;  ///< Configurations that fit, by value.
  };
  std::vector<Values> parameters = {};
  std::vector<Configuration> samples = {};  ///< Some of those that fit.
};

/// Throws InputError as KernelBinding does.
SpaceSurvey survey(const Space& space, const KernelTemplate& kernel, const Problem& problem,
                   const Device& device, std::size_t samples, std::uint64_t seed);

std::string space_text(std::span<const SpaceSurvey> surveys);
std::string space_json(std::span<const SpaceSurvey> surveys);

}  // namespace smemtune
