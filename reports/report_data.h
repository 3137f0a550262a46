#pragma once

#include "db/result_store.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace smemtune {

/// What a report is made from: everything that is stored of one space.
struct ReportSource {
  std::string space;
  std::vector<db::StoredResult> results;  ///< In the order they were recorded.
  std::vector<db::StoredResult> best;     ///< Of each kernel, problem and device.
  std::vector<db::KernelDefaults> defaults;
  std::vector<db::StoredRun> runs;
};

/// A problem on a device model, with the one result of each configuration that counts: the newest,
/// where a failure that may pass counts only if there is no other.
struct ReportSection {
  const Device* device = nullptr;
  Problem problem;
  std::vector<const db::StoredResult*> results;  ///< In the order their configurations were met.
  std::vector<const db::StoredResult*> best;     ///< Of each kernel, the fastest first.
  std::vector<const db::StoredResult*> ties;     ///< Finalists whose intervals overlap the best's.
};

/// By device name, then problem. They point into `source`. Results of kernels that have changed
/// since, and dry runs, are left out.
std::vector<ReportSection> report_sections(const ReportSource& source);

/// What a person who reads one line wants to know, a sentence each: which configuration won and
/// with what time, over its default, what it was compared with, what it is tied with, how much was
/// tried and what became of the rest.
std::vector<std::string> findings(const ReportSource& source, const ReportSection& section);

/// `"format": "smemtune-report", "version": 1`: what the page draws. Of a section with more than
/// `max_rows` results evenly many are left out, never one that was in finals, the best or a default;
/// the page says so. Configurations stand in columns of numbers, words once in a list.
nlohmann::ordered_json report_json(const ReportSource& source, std::size_t max_rows);

/// The findings and tables in Markdown, for pull requests.
std::string report_markdown(const ReportSource& source);

}  // namespace smemtune
