#pragma once

#include "tuner/cli/backends.h"

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct CheckOptions {
  std::filesystem::path space;
  std::filesystem::path database;
  std::vector<std::string> problems;  ///< Empty: all problems of the file that have a stored best.
  DeviceChoice device;
  double tolerance_percent = 3;
  std::uint64_t runners_up = 3;
  std::uint64_t seed = 1;
  bool no_wait = false;
  bool strict = false;  ///< A winner that was compared only with itself counts as lost.
  bool record = false;  ///< Store what is measured as a run.
  bool json = false;
  bool quiet = false;
};

void add_check_options(CLI::App& app, CheckOptions& options);

/// Measures the stored best of each problem again, in alternation with the runners-up and the
/// default; stores that only with `record`. Returns the exit status: 0, 1 if a winner has become slower or is
/// no longer correct, 130 if `stop` was set. Throws InputError if nothing is stored.
int run_check(const CheckOptions& options, const std::atomic<bool>& stop);

}  // namespace smemtune::cli
