#pragma once

#include "reports/report_source.h"
#include "tuner/core/objective.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// A table of the finalists whose energy was measured, the best by the objective first, with what
/// they take, what limited their clock, and the Pareto front of time and energy. Names the best
/// where the objective is not the time. Empty if no energy was measured.
std::string energy_text(std::span<const Result* const> results, Objective objective);

/// The same as JSON, in the same order; null if no energy was measured.
nlohmann::ordered_json energy_json(std::span<const Result* const> results, Objective objective);

/// Returns the results of the run that the best is from; none if nothing was timed.
std::vector<const Result*> of_best_run(const db::ProblemResults& section);

/// Returns energy_text() of each problem's of_best_run(); empty if no energy was measured.
std::string stored_energy_text(const ReportSource& source, Objective objective);

/// Returns the same as a JSON document, `"format": "smemtune-energy", "version": 1`.
std::string stored_energy_document(const ReportSource& source, Objective objective);

}  // namespace smemtune
