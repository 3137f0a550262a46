#pragma once

#include "db/result_store.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// What every export format writes, in its order: the verified and timed ones by space, problem,
/// device name and time. The same results come in the same order, however they were given.
std::vector<const StoredResult*> in_export_order(const std::vector<StoredResult>& best);

/// By space and kernel.
std::vector<KernelDefaults> in_export_order(std::vector<KernelDefaults> defaults);

/// `2026-11-21T14:03:07Z`; empty for a moment that no calendar has.
std::string utc_text(double unix_seconds);

/// Work per second of a metric in 1e9 units (GFLOP/s, GB/s). REQUIRES: the result has the metric.
double giga_per_s(const Result& result, const std::string& metric);

}  // namespace smemtune::db
