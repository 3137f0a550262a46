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

/// The stored results of a problem on a device model, without those of edited kernels.
struct ProblemResults {
  struct Failure {
    std::string kernel;
    std::string status;
    std::string reason;

    auto operator<=>(const Failure&) const = default;
  };
  /// A gain of the best time so far.
  struct Step {
    std::uint64_t evaluations = 0;
    double seconds = 0;  ///< Time that runs had worked on the problem; NaN: not known.
    double best_ms = 0;
  };

  std::int64_t model_id = 0;  ///< Within its database.
  Device device;
  Problem problem;
  /// The result of each configuration that counts: the newest, transient failures only if there is
  /// no other. In the order in which the configurations were first met. Of many a random sample,
  /// with all that were in finals and all defaults.
  std::vector<StoredResult> results;
  std::vector<StoredResult> best;  ///< One for each kernel; the best of all first, then by time.
  // Counts of all configurations, not only of the sample.
  std::uint64_t configurations = 0;
  std::uint64_t timed = 0;
  ChosenBy chosen_by = ChosenBy::search;
  std::map<Failure, std::uint64_t> failures;
  std::vector<Step> convergence;  ///< Ends with the present state. Without finals.
};

/// Returns true if `later`, of the same configuration, counts instead of `earlier`.
bool supersedes(const Result& later, const Result& earlier);

/// Number of results that a section may have however many sections there are.
inline constexpr std::size_t kLeastOfASection = 50;

/// Returns sections ordered by device name, then problem. Reads at most `most` results of all
/// together, but kLeastOfASection of each, besides those that are always in one; of the others only
/// the index, whatever their number.
std::vector<ProblemResults> read_sections(const Connection& connection, const Query& query,
                                          std::size_t most);

}  // namespace smemtune::db
