#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct ReplayCommandOptions {
  std::vector<std::filesystem::path> data;
  std::vector<std::filesystem::path> from;  ///< Known before: recordings of the same kernel.
  std::filesystem::path space;              ///< What is known of launches; empty: nothing.
  std::string device;                       ///< With `space`; empty: as the recording says.
  std::vector<std::string> strategies;      ///< Empty: all but `exhaustive`.
  std::uint64_t seeds = 20;
  std::uint64_t first_seed = 1;
  std::uint64_t evaluations = 500;
  std::uint64_t in_flight = 1;
  std::uint64_t compilers = 1;
  bool json = false;
  std::filesystem::path plot;  ///< An SVG file; empty: none.
};

void add_replay_options(CLI::App& app, ReplayCommandOptions& options);

/// Searches what was recorded again, with each strategy and seed. Throws InputError for a file that
/// cannot be read, and for a strategy that is not known.
int run_replay(const ReplayCommandOptions& options);

}  // namespace smemtune::cli
