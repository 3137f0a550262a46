#pragma once

#include "db/comparison.h"
#include "db/result_reader.h"
#include "db/sections.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// What a report is made from: what is stored of one space, or what a document says of it.
struct ReportSource {
  std::string space;
  std::vector<db::StoredSection> sections;
  std::vector<db::KernelDefaults> defaults;
  std::vector<db::StoredRun> runs;
  std::optional<db::Comparison> devices = {};  ///< Where there are several.
};

/// Returns what is stored of the query's space; of each device and problem about `most` results at
/// most.
ReportSource stored_source(const db::ResultReader& store, const db::Query& query, std::size_t most);

/// Leaves what the query's device, problem and kernel mean, as a store's answer would.
void narrow(ReportSource& source, const db::Query& asked);

/// The result of the kernel's default configuration; null when it was not timed.
const db::StoredResult* default_of(const ReportSource& source, const db::StoredSection& section,
                                   const std::string& kernel);

/// What the finals that chose the best could not tell from it. None where that was not stored.
std::vector<const db::StoredResult*> ties(const db::StoredSection& section);

/// What was timed, of one kernel or (empty) of all, the fastest first.
std::vector<const db::StoredResult*> by_time(const db::StoredSection& section,
                                             const std::string& kernel = "");

/// Whether what is known of it is only what compiling tells: a dry run.
bool is_dry(const db::StoredSection& section);

}  // namespace smemtune
