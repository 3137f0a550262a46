#pragma once

#include "tuner/cli/backends.h"

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace smemtune::cli {

struct RunOptions {
  std::filesystem::path space;
  std::string kernel;  ///< Empty: the only one that has the parameters of the configuration.
  std::string configuration;
  std::string problem;  ///< Empty: the first one of the file.
  std::filesystem::path database;
  std::filesystem::path keep;  ///< A folder; empty: nothing is kept.
  DeviceChoice device;
  std::uint64_t seed = 1;
  std::uint64_t samples = 31;
  bool profile = false;
  bool dry_run = false;
  bool counters = false;
  bool energy = false;
  bool no_wait = false;
  bool json = false;
};

void add_run_options(CLI::App& app, RunOptions& options);

/// Runs a single configuration: compiles, verifies and times it in workers; with `profile`, only
/// compiles it and launches it once in this process; with `dry_run`, only compiles it. Returns the
/// exit status: 0, 3 if the configuration does not work, 130 if `stop` was set. Throws Error.
int run_run(const RunOptions& options, const std::atomic<bool>& stop);

}  // namespace smemtune::cli
