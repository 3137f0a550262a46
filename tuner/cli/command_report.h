#pragma once

#include "db/rows.h"
#include "reports/report_source.h"
#include "tuner/core/objective.h"

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

namespace smemtune::cli {

struct ReportOptions {
  std::filesystem::path database;
  db::Query query;
  bool no_shipped = false;
  /// A document of a run or of `diff`; empty: the report covers stored results.
  std::string document;
  std::string format = "html";     ///< One of html, md and json.
  std::filesystem::path output;    ///< Empty: report.html for html, stdout for the other formats.
  std::uint64_t max_rows = 30000;  ///< Most of all devices and problems together.
  bool live = false;
  std::uint16_t port = 0;  ///< Port of the live page; 0: any.
};

void add_report_options(CLI::App& app, ReportOptions& options);

/// Returns what is stored of the only space that matches, also the winners' histories if asked to.
/// Throws InputError if nothing does, or several spaces.
ReportSource stored_of_one_space(const ReportOptions& options, bool with_histories = false);

struct StoredToRank {
  ReportSource source;
  Objective objective;
};

/// Returns the same, with the objective that it is to be ranked by. Throws InputError also if that
/// is none, or ranks nothing of it.
StoredToRank stored_to_rank(const ReportOptions& options, const std::string& objective);

/// Writes the report and prints its location. Throws StoreError, and InputError if nothing matches,
/// if several spaces match, or if the file cannot be written. With `live`, serves the page until
/// the run ends or `stop` is set.
int run_report(const ReportOptions& options, const std::atomic<bool>& stop);

struct WhyOptions {
  ReportOptions selection;  ///< Selects the stored results of one space.
  std::string objective = "time";
  bool json = false;
};

void add_why_options(CLI::App& app, WhyOptions& options);

/// Prints why the winner of each problem beats its default and its runner-up. Returns 0. Throws
/// StoreError, and InputError if nothing matches, several spaces do, or the objective ranks nothing.
int run_why(const WhyOptions& options);

}  // namespace smemtune::cli
