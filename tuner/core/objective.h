#pragma once

#include "tuner/core/result.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// A quantity by which a run may compare its finalists; the best is decided by time alone
/// (ranking.h). `edp` is the energy-delay product, joules per launch times seconds.
enum class Objective { time, energy, edp };

std::string to_text(Objective objective);
Objective parse_objective(const std::string& word);  ///< Throws InputError.

/// Returns a fact of the energy of a finalist, by its name without the prefix; nullopt if it was
/// not measured.
std::optional<double> energy_fact(const Result& result, const std::string& name);

/// Returns milliseconds, joules or joules times seconds of a launch of the whole kernel; nullopt
/// if its energy was not measured.
std::optional<double> objective_value(const Result& result, Objective objective);

/// Returns the finalists whose energy was measured, the one with the least value first; of equal
/// ones the faster. The only place that ranks by an objective.
std::vector<const Result*> ranked_by(Objective objective, std::span<const Result* const> results);

/// Returns those of `measured` that none is better than, taking less time and no more energy, or
/// less energy and no more time. The fastest comes first. REQUIRES: the energy of all is known.
std::vector<const Result*> pareto_front(std::span<const Result* const> measured);

}  // namespace smemtune
