#pragma once

#include "db/sqlite.h"
#include "tuner/core/device.h"
#include "tuner/core/prior_timings.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// Returns what is stored about a space on devices of this kind: for each kernel and problem, the
/// times from the kMostPriorTimings most similar combinations of device and problem, preferring the
/// same problem, then the more similar device. Only the current version of an edited kernel counts.
/// Other results are not read. Combinations that the run itself finds in its log (this device with
/// one of these problems) are left out unless `in_log_too` is set, which is meant for a database
/// other than the log.
std::vector<PriorTimings> read_prior_timings(const Connection& connection, const std::string& space,
                                             const Device& device,
                                             const std::vector<Problem>& problems, bool in_log_too);

}  // namespace smemtune::db
