#pragma once

#include "db/maintenance.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>

namespace smemtune::cli {

/// Options of `db check`, `info`, `backup` and `prune`.
struct DatabaseOptions {
  std::filesystem::path database;
  std::filesystem::path copy;  ///< backup: the file to write; undo: the one to read.
  db::PruneRule rule;          ///< prune
  double older_than_days = 0;  ///< prune; 0: of any age.
  bool yes = false;            ///< prune: do it.
  bool no_backup = false;      ///< prune
  bool json = false;
};

/// Adds the subcommands; the one that is given sets `command`.
void add_database_commands(CLI::App& app, DatabaseOptions& options, std::function<int()>& command);

}  // namespace smemtune::cli
