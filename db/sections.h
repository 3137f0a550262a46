#pragma once

#include "db/rows.h"
#include "tuner/core/main_effects.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace smemtune::db {

class Connection;

/// What is stored of a problem on a device model: kernels as they are now, edited ones left out.
struct StoredSection {
  struct Failure {
    std::string kernel;
    std::string status;
    std::string reason;

    auto operator<=>(const Failure&) const = default;
  };
  /// Where the best time so far became better.
  struct Step {
    std::uint64_t evaluations = 0;
    double seconds = 0;  ///< That runs were at work on the problem until then; NaN: not known.
    double best_ms = 0;
  };

  std::int64_t model_id = 0;  ///< Within its database.
  Device device;
  Problem problem;
  /// The one result of each configuration that counts: the newest, where a failure that may pass
  /// counts only if there is no other. In the order in which the configurations were first met; of
  /// many some, drawn by lot, with all that were in finals and all defaults.
  std::vector<StoredResult> results;
  std::vector<StoredResult> best;  ///< Of each kernel; the best of all first, then by time.
  // Of all configurations, those too that were not chosen.
  std::uint64_t configurations = 0;
  std::uint64_t timed = 0;
  ChosenBy chosen_by = ChosenBy::search;
  std::map<Failure, std::uint64_t> failures;
  std::vector<Step> convergence;  ///< Ends with where the search is now. Finals are left out.
};

/// Whether `later`, of the same configuration, counts in the place of `earlier`.
bool supersedes(const Result& later, const Result& earlier);

/// By device name, then problem. Of a section at most `most` results, apart from those that are
/// always among them, are read; of the others the index, whatever their number.
std::vector<StoredSection> read_sections(const Connection& connection, const Query& query,
                                         std::size_t most);

}  // namespace smemtune::db
