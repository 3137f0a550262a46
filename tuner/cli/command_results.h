#pragma once

#include "db/rows.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace smemtune::cli {

/// Options of the subcommands that answer from stored results, which need neither GPU nor CUDA.
struct ResultsOptions {
  std::filesystem::path database;
  db::Query query;
  bool no_shipped = false;
  bool per_kernel = false;  ///< For best: the best of each kernel, not only the fastest of all.
  bool one = false;         ///< For best: the configuration that loses least over all problems.
  std::string objective = "time";    ///< For best: anything else ranks the finalists.
  bool results = false;              ///< For list: single results instead of runs.
  std::uint64_t limit = 0;           ///< For list: maximum number; 0: all.
  std::vector<std::string> devices;  ///< For compare: only these; empty: all.
  bool all_pairs = false;  ///< For compare: each GPU and the matrix, however many there are.
  bool json = false;
  /// For export: a name in db/export_formats.h; for compare: text, md, ...
  std::string format = "json";
  std::uint64_t portfolio = 0;  ///< For export: number of configurations; 0: each problem's best.
  std::string rules;            ///< For export: `cpp` or `python`; empty: no rules.
  std::filesystem::path output = "-";
};

/// Adds the options that select stored results, except --source.
void add_selection(CLI::App& app, db::Query& query);

void add_best_options(CLI::App& app, ResultsOptions& options);
void add_list_options(CLI::App& app, ResultsOptions& options);
void add_export_options(CLI::App& app, ResultsOptions& options);
void add_compare_options(CLI::App& app, ResultsOptions& options);

/// Prints the answer on stdout and returns 0. Throws StoreError, and InputError if nothing matches.
int run_best(const ResultsOptions& options);
int run_list(const ResultsOptions& options);
int run_export(const ResultsOptions& options);
int run_compare(const ResultsOptions& options);

}  // namespace smemtune::cli
