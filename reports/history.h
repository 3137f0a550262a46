#pragma once

#include "db/result_reader.h"
#include "reports/comparison.h"
#include "tuner/core/change_points.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune {

/// The times of a problem's winner on a device model whenever it was in finals.
struct WinnerHistory {
  db::StoredResult winner;
  std::vector<db::StoredResult> points;  ///< Its results, the oldest first.
  std::vector<ChangePoint> changes;      ///< Indices are those of `points`.
};

/// Returns the histories of the winners that the query is about, as far as they were measured here.
std::vector<WinnerHistory> winner_histories(const db::ResultReader& store, const db::Query& query);

/// Returns tables of the points and sentences on the changes.
std::string history_text(const std::vector<WinnerHistory>& histories, Markup markup);

/// Returns one as JSON.
nlohmann::ordered_json winner_history_json(const WinnerHistory& history);

/// Returns a JSON document, `"format": "smemtune-history", "version": 1`.
std::string history_json(const std::vector<WinnerHistory>& histories);

/// Returns the newest points as nvbench writes its results, for nvbench's compare script: means in
/// seconds; the relative standard deviation is that of a normal distribution with these quartiles.
std::string history_nvbench(const std::vector<WinnerHistory>& histories);

/// Returns the newest points in the Bencher Metric Format: the median as `latency` in ns, with its
/// interval.
std::string history_bencher(const std::vector<WinnerHistory>& histories);

}  // namespace smemtune
