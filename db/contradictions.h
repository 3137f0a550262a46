#pragma once

#include "db/json_forms.h"
#include "tuner/core/result.h"

#include <optional>
#include <string>

namespace smemtune::db {

/// Return what in a result contradicts itself, with the members' names as exports have them and both
/// numbers: `time.median_ms 1e-09 is below time.min_ms 0.5`. nullopt: nothing. `imported`: of another
/// tuner's result the time may be the mean of its samples, or none of them.
std::optional<std::string> contradiction(const Result& result, bool imported);

/// The same of what an entry of an export says besides the result `stored` that was read of it.
std::optional<std::string> contradiction_of_export(const Json& entry, const StoredResult& stored);

}  // namespace smemtune::db
