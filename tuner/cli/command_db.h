#pragma once

#include "db/maintenance.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>

namespace smemtune::cli {

/// Options of the subcommands of `smemtune db`.
struct DatabaseOptions {
  std::filesystem::path database;
  std::filesystem::path copy;  ///< For backup: the file to write; for undo: the file to read.
  db::PruneRule rule;          ///< For prune.
  double older_than_days = 0;  ///< For prune; 0: of any age.
  bool yes = false;            ///< For prune: remove the results instead of only listing them.
  bool no_backup = false;      ///< For prune.
  bool json = false;
};

/// Adds the subcommands; the one on the command line sets `command`.
void add_database_commands(CLI::App& app, DatabaseOptions& options, std::function<int()>& command);

}  // namespace smemtune::cli
