#pragma once

#include "db/sqlite.h"
#include "tuner/core/device.h"
#include "tuner/core/prior_timings.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// Returns what is stored about a space on devices of this kind: for each kernel and problem, the
/// times from the kMostPriorTimings most similar combinations of device and problem, preferring the
/// same problem, then the more similar device; and which one of each problem's kernels finals on
/// this device chose last. Only the current version of an edited kernel counts. Other results are
/// not read. Of combinations that a run finds in its own log, `is_log`, (this device with one of
/// these problems) only the winner is told.
std::vector<PriorTimings> read_prior_timings(const Connection& connection, const std::string& space,
                                             const Device& device,
                                             const std::vector<Problem>& problems, bool is_log);

}  // namespace smemtune::db
