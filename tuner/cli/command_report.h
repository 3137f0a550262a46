#pragma once

#include "db/result_store.h"

#include <CLI/CLI.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace smemtune::cli {

struct ReportOptions {
  std::filesystem::path database;
  db::Query query;
  bool no_shipped = false;
  /// A document of a run or of `diff`, unless the report is of what is stored; with the format svg
  /// a figure's name comes last.
  std::vector<std::string> of;
  std::string format = "html";     ///< html, md, json or svg.
  std::filesystem::path output;    ///< Empty: report.html, and stdout for the other formats.
  std::uint64_t max_rows = 30000;  ///< Of each device and problem.
  bool live = false;
  std::uint16_t port = 0;  ///< Of the live page; 0: any.
};

void add_report_options(CLI::App& app, ReportOptions& options);

/// Writes the report and says where. Throws StoreError, and InputError when nothing matches, when
/// several spaces do, or when the file cannot be written. With `live`, serves the page until the
/// run ends or `stop` is set.
int run_report(const ReportOptions& options, const std::atomic<bool>& stop);

}  // namespace smemtune::cli
