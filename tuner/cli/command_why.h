#pragma once

#include "tuner/cli/command_report.h"

namespace smemtune::cli {

struct WhyOptions {
  ReportOptions selection;  ///< Selects the stored results of one space.
  std::string objective = "time";
  bool json = false;
};

void add_why_options(CLI::App& app, WhyOptions& options);

/// Prints why the winner of each problem beats its default and its runner-up. Returns 0. Throws
/// StoreError, and InputError if nothing matches, several spaces do, or the objective ranks nothing.
int run_why(const WhyOptions& options);

}  // namespace smemtune::cli
