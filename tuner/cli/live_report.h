#pragma once

#include "tuner/cli/command_report.h"

#include <atomic>

namespace smemtune::cli {

/// Serves the report of the space that a run is at work on, and says where; ends with the run, or
/// when `stop` is set. Throws InputError where no run, or more than one, that the query means goes
/// on.
int follow_run(const ReportOptions& options, const std::atomic<bool>& stop);

}  // namespace smemtune::cli
