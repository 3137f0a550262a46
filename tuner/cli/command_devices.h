#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>

namespace smemtune::cli {

struct DevicesOptions {
  /// List the published GPUs and those in the database instead of those in this machine.
  bool known = false;
  std::filesystem::path database;
  bool json = false;
};

void add_devices_options(CLI::App& app, DevicesOptions& options);

/// Prints the devices and their limits. Throws UnavailableError if there is no GPU or driver.
int run_devices(const DevicesOptions& options);

}  // namespace smemtune::cli
