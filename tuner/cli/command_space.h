#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct SpaceOptions {
  std::filesystem::path space;
  std::vector<std::string> kernels;   ///< Empty: all.
  std::vector<std::string> problems;  ///< Empty: the file's first.
  std::string device;                 ///< Empty: the first GPU here, else the H200.
  std::filesystem::path database;
  std::uint64_t samples = 5;
  std::uint64_t seed = 1;
  bool json = false;
};

void add_space_options(CLI::App& app, SpaceOptions& options);

/// Prints what the search spaces of a file are made of. Compiles and measures nothing.
int run_space(const SpaceOptions& options);

}  // namespace smemtune::cli
