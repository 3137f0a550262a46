#pragma once

#include "db/ranking.h"
#include "db/sqlite.h"

#include <cstdint>
#include <vector>

namespace smemtune::db {

/// What is stored of one kernel's configurations for a problem on a device model.
struct Standings {
  std::vector<Timed> newest;  ///< One of each configuration that stands.
  std::vector<Timed> finals;  ///< Every final of those.
};

/// A configuration stands where the newest of its results is a time, those aside that say nothing
/// lasting of it: a failure that may pass, and one that was right and not timed. With
/// `finalists_only` configurations that were never in finals are left out.
Standings read_standings(const Connection& connection, std::int64_t model_id,
                         std::int64_t kernel_id, std::int64_t problem_id, bool finalists_only);

/// The query for it: `result_by_configuration` holds all that is read of most results.
std::string standings_sql(bool finalists_only);

}  // namespace smemtune::db
