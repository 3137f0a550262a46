#pragma once

#include "db/result_store.h"

#include <string>
#include <vector>

namespace smemtune {

/// Devices side by side: per space and problem a row, per device a column with the best time, its
/// configuration and throughput, and each device's time against the fastest GPU's. CPU devices have
/// columns of their own, marked, with rates and never a ratio to a GPU. Below it, how much each
/// device loses when it runs the best configuration of another, where that was measured.
std::string comparison_text(const std::vector<db::StoredResult>& best,
                            const std::vector<db::StoredResult>& all);

/// The same as a JSON document, `"format": "smemtune-comparison", "version": 1`.
std::string comparison_json(const std::vector<db::StoredResult>& best,
                            const std::vector<db::StoredResult>& all);

}  // namespace smemtune
