#pragma once

#include "reports/report_source.h"
#include "tuner/core/objective.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// A table of the finalists that the objective ranks, the best first, with what they take, what
/// limited their clock, and the Pareto front of time and energy; others whose energy was measured
/// are listed where they are on the front. Names the best where the objective
/// is not the time, and what the others lack. By time only those are ranked whose energy was
/// measured. Empty if there are none.
std::string energy_text(std::span<const Result* const> results, const Objective& objective);

/// The same as JSON, in the same order; null if there are none.
nlohmann::ordered_json energy_json(std::span<const Result* const> results,
                                   const Objective& objective);

/// "  energy per launch: 12.3 mJ at 312 W (82 W idle, ...), clock limited by power 98 %"; empty if it
/// was not measured.
std::string energy_line(const Result& result);

/// Returns the results of the run that the best is from; none if nothing was timed.
std::vector<const Result*> of_best_run(const db::ProblemResults& section);

/// Returns energy_text() of each problem's of_best_run(); empty if that is.
std::string stored_energy_text(const ReportSource& source, const Objective& objective);

/// Throws InputError, which says what is not known, if the objective ranks nothing of the source and
/// is not the time.
void refuse_unranked(const ReportSource& source, const Objective& objective);

/// Returns the same as a JSON document, `"format": "smemtune-energy", "version": 1`.
std::string stored_energy_document(const ReportSource& source, const Objective& objective);

}  // namespace smemtune
