#pragma once

#include "tuner/core/result.h"
#include "tuner/engine/problem_state.h"
#include "tuner/search/strategy.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// Returns one SHA-256 over the hashes of the kernels searched, whatever their order.
std::string kernels_sha256(const ProblemState& state);

/// Returns a configuration of a kernel that is searched; nullopt if it is not valid here.
std::optional<Candidate> candidate_of(const ProblemState& state, const std::string& kernel,
                                      const Configuration& configuration);

/// An earlier search of the same kernels for the same problem on this device model, and whether its
/// answer holds here: its winner is compiled to the same machine code, and nothing that is measured
/// here is better by what it looked for, as far as their samples tell. What it found near its winner,
/// and each kernel's default values, have to be measured first.
class SearchedBefore {
 public:
  /// There was no such search.
  SearchedBefore() = default;

  /// Finds the earlier search that leaves the least chance of something more than `percent` %
  /// better; none where that is 0.
  SearchedBefore(const Tuning& tuning, const ProblemState& state, double percent);

  /// Returns what is to be measured first: its winner and what was near it. Empty where there was
  /// no such search, or its results are known here.
  const std::vector<Candidate>& first() const { return first_; }

  /// Returns true if there is an answer that left little in doubt, and its results are in the log.
  bool is_in_log() const { return missing() && first_.empty(); }

  void tell(const Candidate& candidate, const Result& result);

  /// Returns how many are to be measured before it is known whether its answer, which left little
  /// in doubt, holds here; nullopt if there is no such answer.
  std::optional<std::size_t> missing() const;

  /// Returns what that search left in doubt, if its answer holds here. `elsewhere` counts those of
  /// its evaluations that are not known here.
  std::optional<Searched> confirmed() const;

 private:
  void add(const ProblemState& state, const PriorTimings& prior_timings, double most_ms);

  std::optional<Searched> searched_;
  std::string cubin_sha256_;  ///< Of the winner there.
  Candidate winner_;
  std::vector<Candidate> first_;
  std::set<Candidate> missing_;          ///< What has to be measured before anything is confirmed.
  std::optional<double> winner_low_ms_;  ///< Lower end of its median's confidence interval.
  std::optional<double> best_high_ms_;   ///< Lowest upper end of all.
  bool is_refuted_ = false;
};

}  // namespace smemtune
