#pragma once

#include "tuner/core/device.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// A configuration with its predicted and measured time, both relative to its kernel's default.
struct ExpectedPoint {
  const Result* result = nullptr;  ///< nullptr if the configuration was not timed.
  Configuration configuration;
  double predicted = 0;
  double measured = 0;
  bool seen = false;
};

/// The predicted and measured times of one kernel.
struct Curve {
  const KernelTemplate* kernel = nullptr;
  std::vector<ExpectedPoint> points;  ///< Points in the order of the search space.
};

/// Returns a curve for every kernel that has an expectation and whose default was timed. Empty on a
/// CPU, because expectations are about GPUs.
std::vector<Curve> curves(const Space& space, const ProblemSummary& problem, const Device& device);

/// Returns a table for each curve, with the number of points where the prediction was seen.
std::string curves_text(const std::vector<Curve>& curves);

/// Returns `expectations` of a problem in a run's JSON.
nlohmann::ordered_json curves_json(const std::vector<Curve>& curves);

}  // namespace smemtune
