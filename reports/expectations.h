#pragma once

#include "tuner/core/device.h"
#include "tuner/core/space.h"
#include "tuner/core/summary.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// A configuration whose time was predicted: both relative to its kernel's default.
struct ExpectedPoint {
  const Result* result = nullptr;  ///< Null when it was not timed.
  Configuration configuration;
  double predicted = 0;
  double measured = 0;
  bool seen = false;
};

/// The predicted curve of one kernel against the measured one.
struct Curve {
  const KernelTemplate* kernel = nullptr;
  std::vector<ExpectedPoint> points;  ///< In the search space's order.
};

/// Of every kernel with an expectation whose default was timed. Empty on a CPU: what is predicted
/// is a GPU.
std::vector<Curve> curves(const Space& space, const ProblemSummary& problem, const Device& device);

/// A table per curve, and how much of it was seen.
std::string curves_text(const std::vector<Curve>& curves);

/// `expectations` of a problem in a run's JSON.
nlohmann::ordered_json curves_json(const std::vector<Curve>& curves);

}  // namespace smemtune
