#pragma once

#include "db/rows.h"
#include "db/sqlite.h"

#include <functional>
#include <string>

namespace smemtune::db {

/// See ResultStore::record_of() and ResultStore::add().
RunRecord read_run_record(const Connection& connection, const std::string& run_id);
Added add_run_record(const Connection& connection, RunRecord& record,
                     const std::function<void(RunRecord&)>& next, const AddLimits& limits);

}  // namespace smemtune::db
