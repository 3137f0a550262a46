#pragma once

#include "tuner/cli/command_report.h"

#include <atomic>

namespace smemtune::cli {

/// Serves the report of the space that a run is tuning, and prints its address. Ends with the run,
/// or when `stop` is set. Throws InputError if no active run, or more than one, matches the query.
int follow_run(const ReportOptions& options, const std::atomic<bool>& stop);

}  // namespace smemtune::cli
