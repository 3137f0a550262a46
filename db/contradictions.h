#pragma once

#include "db/json_forms.h"
#include "tuner/core/result.h"

#include <optional>
#include <string>

namespace smemtune::db {

/// Returns how a result contradicts itself, with the names that members have in exports and both
/// numbers, as in `time.median_ms 1e-09 is below time.min_ms 0.5`; nullopt if it does not.
/// `imported`: another tuner measured the result, so its median may be the mean of its samples or
/// unrelated to them.
std::optional<std::string> contradiction(const Result& result, bool imported);

/// Returns how an entry of an export contradicts the result `stored` that was read from it, or
/// itself; nullopt if it does not.
std::optional<std::string> contradiction_of_export(const Json& entry, const StoredResult& stored);

}  // namespace smemtune::db
