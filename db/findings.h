#pragma once

#include "db/sqlite.h"
#include "tuner/core/device.h"
#include "tuner/core/findings.h"

#include <string>
#include <vector>

namespace smemtune::db {

/// What is stored of a space on devices of this kind, but for what a run that tunes these problems
/// on this device finds in the log itself: for each kernel and problem of the kMostFindings most
/// alike places, those with the same problem first, then those whose device has more in common. Of
/// edited kernels only the current one's. Other results are not read. `in_log_too`: of a database
/// that is not the log.
std::vector<Findings> read_findings(const Connection& connection, const std::string& space,
                                    const Device& device, const std::vector<Problem>& problems,
                                    bool in_log_too);

}  // namespace smemtune::db
