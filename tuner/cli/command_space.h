#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct SpaceOptions {
  std::filesystem::path space;
  std::vector<std::string> kernels;   ///< Empty: all kernels.
  std::vector<std::string> problems;  ///< Empty: the first one of the file.
  std::string device;                 ///< Empty: the first GPU in this machine, otherwise the H200.
  std::filesystem::path database;
  std::uint64_t samples = 5;
  std::uint64_t seed = 1;
  bool json = false;
};

void add_space_options(CLI::App& app, SpaceOptions& options);

/// Prints statistics of the search spaces in a file. Compiles and measures nothing.
int run_space(const SpaceOptions& options);

}  // namespace smemtune::cli
