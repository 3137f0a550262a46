#pragma once

#include "db/comparison.h"
#include "db/result_reader.h"
#include "db/sections.h"
#include "reports/history.h"
#include "reports/version_diff.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace smemtune {

/// The source of a report: stored results of one space, or a document of it.
struct ReportSource {
  std::string space;
  std::vector<db::ProblemResults> sections;
  std::vector<db::KernelDefaults> defaults;
  std::vector<db::StoredRun> runs;
  std::optional<db::Comparison> devices = {};  ///< Set if there are several.
  std::vector<WinnerHistory> histories = {};   ///< Those of the sections' winners, where asked for.
};

/// Returns what is stored of the query's space; of each device and problem about `most` results at
/// most.
ReportSource stored_source(const db::ResultReader& store, const db::Query& query, std::size_t most);

/// Keeps what the query's device, problem and kernel mean, as a store's answer would.
void narrow(ReportSource& source, const db::Query& asked);

/// Returns the result of the kernel's default configuration; null if it was not timed.
const db::StoredResult* default_of(const ReportSource& source, const db::ProblemResults& section,
                                   const std::string& kernel);

/// Returns the results that the finals which chose the best could not tell from it; none if that
/// was not stored.
std::vector<const db::StoredResult*> ties(const db::ProblemResults& section);

/// Returns the timed results, the fastest first.
std::vector<const db::StoredResult*> by_time(const db::ProblemResults& section);

/// Returns true if a dry run is all that is known of it.
bool is_dry(const db::ProblemResults& section);

/// Reads a document that smemtune wrote: of a run or a dry run (`--json`), of stored results
/// (`list --results --json`), or of two versions (`diff --json`). `name` is the file's, for errors.
/// Throws InputError with it and the place.
std::variant<ReportSource, VersionDiff> read_document(const std::string& name,
                                                      std::string_view text);

}  // namespace smemtune
