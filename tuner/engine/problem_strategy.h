#pragma once

#include "tuner/core/result.h"
#include "tuner/engine/problem_state.h"
#include "tuner/engine/seen_times.h"
#include "tuner/search/strategy.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

// The configurations of a problem to evaluate next, and those left when its search has ended.

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
  std::string cubin_sha256_;  ///< The winner's, there.
  Candidate winner_;
  std::vector<Candidate> first_;
  std::set<Candidate> missing_;          ///< Candidates to measure before anything is confirmed.
  std::optional<double> winner_low_ms_;  ///< Lower end of its median's confidence interval.
  std::optional<double> best_high_ms_;   ///< Lowest upper end of all.
  bool is_refuted_ = false;
};

/// Returns true if what a run asks for next depends on results.
bool learns(const Tuning& tuning);

/// Returns a strategy that asks for these configurations, in this order.
std::unique_ptr<Strategy> listed(const ProblemState& state,
                                 const std::vector<KernelConfiguration>& only);

/// Returns how much faster, in percent, something must probably not be for the search to end by
/// itself; 0 where it does not.
double until_percent(const Tuning& tuning, const ProblemState& state);

/// Returns the configurations of a kernel that the log has results of for the problem.
std::vector<Configuration> known_configurations(const Tuning& tuning, const ProblemState& state,
                                                const KernelOnProblems& kernel);

/// A problem's search before its first question.
struct PlannedSearch {
  SearchedBefore before = {};
  std::unique_ptr<Strategy> strategy;
  std::string told = {};  ///< A line for people on what it was told of elsewhere; may be empty.
};

/// Chooses what to evaluate next of a problem: by the list that the request names, else by the
/// strategy that it asks for, which is told what is known of other problems and devices. A dry run,
/// where nothing is learnt, uses `random`.
PlannedSearch plan_search(Tuning& tuning, const ProblemState& state);

/// Returns, of each kernel, the fastest that was given up early and may be its best after all,
/// because what it lost to turned out not to stand; and the default that the best is compared with,
/// if that was given up. `times`: by kernel.
std::set<Candidate> given_up_too_early(const ProblemState& state, std::span<const SeenTimes> times);

/// Returns what is one step of one parameter away from the fastest three, as far as they are within
/// LastGain::kGain of the fastest, and was not evaluated.
std::set<Candidate> beside_fastest(const ProblemState& state);

}  // namespace smemtune
