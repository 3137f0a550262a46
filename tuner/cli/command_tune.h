#pragma once

#include "tuner/cli/backends.h"
#include "tuner/cli/progress.h"
#include "tuner/engine/tuning_options.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct TuneOptions {
  std::filesystem::path space;
  std::filesystem::path check;  ///< `--check`: only look for errors in this file.
  std::filesystem::path database;
  /// `--export`: write the best results as JSON when the run has ended.
  std::filesystem::path export_file;
  DeviceChoice device;
  std::vector<std::string> kernels;   ///< Empty: all kernels.
  std::string also_fits;              ///< `--also-fits`: devices, separated by commas.
  std::vector<std::string> problems;  ///< Empty: those of the space file.
  TuningOptions tuning;
  std::string objective = "time";  ///< `--objective`: ranks the finalists.
  bool no_shipped = false;
  bool no_wait = false;  ///< Fail if another smemtune uses the device.
  bool dry_run = false;
  bool fresh = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::vector<std::string> command_line;
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// Adds the options of `smemtune --space FILE` and of `smemtune tune`.
void add_tune_options(CLI::App& app, TuneOptions& options);

/// Tunes, checks a file, or does a dry run. Returns the exit status: 0, 3 if no configuration
/// worked, 130 if it was asked to stop. Throws Error.
int run_tune(const TuneOptions& options);

}  // namespace smemtune::cli
