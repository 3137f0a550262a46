#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct ReplayCommandOptions {
  std::vector<std::filesystem::path> data;
  /// Recordings of the same kernel that the search knows in advance.
  std::vector<std::filesystem::path> from;
  std::filesystem::path space;          ///< Source of launch costs; empty: the search knows none.
  std::string device;                   ///< For `space`; empty: the device of the recording.
  std::vector<std::string> strategies;  ///< Empty: all strategies but `exhaustive`.
  std::uint64_t seeds = 20;
  std::uint64_t first_seed = 1;
  std::uint64_t evaluations = 500;
  std::uint64_t in_flight = 1;
  std::uint64_t compilers = 1;
  bool json = false;
};

void add_replay_options(CLI::App& app, ReplayCommandOptions& options);

/// Replays searches over the recordings, with each strategy and seed. Throws InputError for a file
/// that cannot be read, and for an unknown strategy.
int run_replay(const ReplayCommandOptions& options);

}  // namespace smemtune::cli
