#pragma once

#include "db/import.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <vector>

namespace smemtune::cli {

/// Options of `import` and `merge`.
struct ImportOptions {
  std::filesystem::path database;
  std::vector<std::filesystem::path> files;
  db::ImportNames names;
  bool json = false;
};

void add_import_options(CLI::App& app, ImportOptions& options);
int run_import(const ImportOptions& options);

void add_merge_options(CLI::App& app, ImportOptions& options);
int run_merge(const ImportOptions& options);

}  // namespace smemtune::cli
