#pragma once

#include "tuner/core/objective.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>

namespace smemtune {

/// A table of the finalists whose energy was measured, the best by the objective first, with what
/// they take, what limited their clock, and the Pareto front of time and energy. Names the best
/// where the objective is not the time. Empty if no energy was measured.
std::string energy_text(std::span<const Result* const> results, Objective objective);

/// The same as JSON, in the same order; null if no energy was measured.
nlohmann::ordered_json energy_json(std::span<const Result* const> results, Objective objective);

}  // namespace smemtune
