#pragma once

#include "db/rows.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>

namespace smemtune::cli {

struct HistoryOptions {
  std::filesystem::path database;
  db::Query query;
  std::string format = "text";  ///< One of text, md, json, nvbench and bencher.
};

void add_history_options(CLI::App& app, HistoryOptions& options);

/// Prints what the stored winners took in the course of time, and where that changed. Returns 0.
/// Throws StoreError, and InputError if nothing matches.
int run_history(const HistoryOptions& options);

}  // namespace smemtune::cli
