#pragma once

#include "db/result_store.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace smemtune::cli {

/// Options of the subcommands that answer from stored results. They need neither GPU nor CUDA.
struct ResultsOptions {
  std::filesystem::path database;
  db::Query query;
  bool no_shipped = false;
  bool per_kernel = false;  ///< best: each kernel's, not only the fastest of all.
  bool one = false;         ///< best: the one that loses least over all problems.
  bool results = false;     ///< list: single results instead of runs.
  std::uint64_t limit = 0;  ///< list: so many at most; 0 is all.
  bool json = false;
  std::string format = "json";  ///< export: defines, header, json or csv; compare: text, md, ...
  std::uint64_t portfolio = 0;  ///< export: so many configurations; 0: each problem's best.
  std::filesystem::path output = "-";
};

/// The options that say which stored results are meant, but for --source.
void add_selection(CLI::App& app, db::Query& query);

void add_best_options(CLI::App& app, ResultsOptions& options);
void add_list_options(CLI::App& app, ResultsOptions& options);
void add_export_options(CLI::App& app, ResultsOptions& options);
void add_compare_options(CLI::App& app, ResultsOptions& options);

/// Each prints its answer on stdout and returns 0. Throw StoreError, and InputError when nothing
/// matches.
int run_best(const ResultsOptions& options);
int run_list(const ResultsOptions& options);
int run_export(const ResultsOptions& options);
int run_compare(const ResultsOptions& options);

}  // namespace smemtune::cli
