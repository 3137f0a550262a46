#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>

namespace smemtune::cli {

struct DevicesOptions {
  bool known = false;  ///< The published GPUs and those the database has met, not those here.
  std::filesystem::path database;
  bool json = false;
};

void add_devices_options(CLI::App& app, DevicesOptions& options);

/// Prints the devices and their limits. Throws UnavailableError where there is no GPU or driver.
int run_devices(const DevicesOptions& options);

}  // namespace smemtune::cli
