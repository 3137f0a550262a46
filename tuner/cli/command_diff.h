#pragma once

#include "tuner/cli/backends.h"

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct DiffOptions {
  std::string old_version;  ///< A space file, or `REV:path`.
  std::string new_version;
  std::filesystem::path database;
  std::vector<std::string> kernels;   ///< Empty: all kernels that both versions have.
  std::vector<std::string> problems;  ///< Empty: all problems of the new version's file.
  DeviceChoice device;
  double tolerance_percent = 3;
  std::uint64_t seed = 1;
  bool no_wait = false;
  bool json = false;
  bool quiet = false;
  std::string format = "text";
};

void add_diff_options(CLI::App& app, DiffOptions& options);

/// Measures the winners and the defaults of two versions of a space back to back, and stores
/// nothing. Returns the exit status: 0, 1 if the new version loses more than the tolerance, 130 if
/// `stop` was set. Throws InputError if the versions have nothing in common.
int run_diff(const DiffOptions& options, const std::atomic<bool>& stop);

}  // namespace smemtune::cli
