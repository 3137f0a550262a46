#pragma once

#include "reports/report_source.h"
#include "tuner/cli/shared_results.h"
#include "tuner/core/objective.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace smemtune::cli {

/// Most results that a report shows, of all devices and problems together.
inline constexpr std::uint64_t kMostRows = 30000;

struct ReportOptions : StoredChoice {
  /// A document of a run or of `diff`; empty: the report covers stored results.
  std::string document;
  std::string format = "html";   ///< One of html, md and json.
  std::filesystem::path output;  ///< Empty: report.html for html, stdout for the other formats.
  std::uint64_t max_rows = kMostRows;
  bool live = false;
  std::uint16_t port = 0;  ///< Port of the live page; 0: any.
};

/// Returns what is stored of the only space that matches, also the winners' histories if asked to.
/// Throws InputError if nothing does, or several spaces.
ReportSource stored_of_one_space(const StoredChoice& choice, std::uint64_t max_rows = kMostRows,
                                 bool with_histories = false);

struct StoredToRank {
  ReportSource source;
  Objective objective;
};

/// Returns the same, with the objective that it is to be ranked by. Throws InputError also if that
/// is none, or ranks nothing of it.
StoredToRank stored_to_rank(const StoredChoice& choice, const std::string& objective);

}  // namespace smemtune::cli
