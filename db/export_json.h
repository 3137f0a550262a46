#pragma once

#include "db/rows.h"
#include "tuner/core/whole_file.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune::db {

/// Returns the best configurations as JSON, `"format": "smemtune-best", "version": 1` (documented
/// in db/EXPORT.md): per space, kernel, device and problem the parameters, launch shape, time,
/// throughput, occupancy, resources and provenance, and each kernel's default values. The text ends
/// with a newline and contains only verified results. The same results give the same text, in any
/// input order.
/// `candidates`: what else was measured of the best configurations and of default values; they
/// become a member of that name, without launches and failures included, unless there are none.
std::string export_json(const std::vector<StoredResult>& best,
                        const std::vector<KernelDefaults>& defaults,
                        const std::vector<StoredResult>& candidates = {});

/// Writes the same in parts, with a member `portfolios`, an array of what it costs to choose the same
/// configuration for several problems, unless it is empty.
void export_json(const std::vector<StoredResult>& best, const std::vector<KernelDefaults>& defaults,
                 const std::vector<StoredResult>& candidates,
                 const nlohmann::ordered_json& portfolios, const TextSink& out);

}  // namespace smemtune::db
