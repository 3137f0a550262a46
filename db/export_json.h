#pragma once

#include "db/result_store.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace smemtune::db {

/// The best configurations as JSON, `"format": "smemtune-best", "version": 1` (docs in
/// db/EXPORT.md): per space, kernel, device and problem the parameters, launch shape, time,
/// throughput, occupancy, resources and provenance; and each kernel's default values. Ends with a
/// newline. Only verified results are ever in it. The same results give the same text, in whatever
/// order they come.
std::string export_json(const std::vector<StoredResult>& best,
                        const std::vector<KernelDefaults>& defaults);

/// With a member `portfolios`, an array: what choosing the same configuration for several problems
/// costs. Without it where that is empty.
std::string export_json(const std::vector<StoredResult>& best,
                        const std::vector<KernelDefaults>& defaults,
                        const nlohmann::ordered_json& portfolios);

}  // namespace smemtune::db
