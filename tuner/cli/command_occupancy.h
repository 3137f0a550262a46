#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace smemtune::cli {

/// Either the resources of a block, or a configuration of a space's kernel.
struct OccupancyOptions {
  std::string threads;                     ///< `256` or `16x16`.
  std::optional<std::uint64_t> registers;  ///< Per thread.
  std::optional<std::uint64_t> shared;     ///< Bytes per block, static and dynamic.
  std::optional<double> target;  ///< In per cent: ask which resources a block may use to reach it.
  std::filesystem::path space;
  std::string kernel;         ///< Empty: every kernel that has the parameters of the configuration.
  std::string configuration;  ///< Parameters that it leaves out have their default values.
  std::string problem;        ///< Empty: the first one of the file.
  std::string device;
  std::filesystem::path database;
  bool chart = false;
  bool json = false;
};

void add_occupancy_options(CLI::App& app, OccupancyOptions& options);

/// Answers without a GPU. Returns 0, or 3 if no configuration compiled. Throws InputError, and
/// UnavailableError if a kernel cannot be compiled here.
int run_occupancy(const OccupancyOptions& options);

}  // namespace smemtune::cli
