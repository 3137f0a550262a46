#pragma once

#include "tuner/core/derived_tolerance.h"
#include "tuner/core/failure_pattern.h"
#include "tuner/core/measurement.h"
#include "tuner/core/outcome.h"
#include "tuner/core/ranking.h"
#include "tuner/core/result.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// The effect that static rejects would have had on a run without them.
struct StaticRejects {
  std::uint64_t rejected = 0;
  std::uint64_t top = 0;     ///< Number of configurations in the fastest 1 %...
  std::vector<Result> lost;  ///< ... and those of them that would have been rejected.
};

/// A reference that most other configurations contradict.
struct DefaultInDoubt {
  std::string kernel;
  std::uint64_t agreeing = 0;  ///< Other configurations of the kernel that agree with each other...
  std::uint64_t others = 0;    ///< ... of so many that were compared with its default.

  bool operator==(const DefaultInDoubt&) const = default;
};

/// `5 of 6 other configurations of twice agree with each other and not with its default: ...`.
inline std::string to_text(const DefaultInDoubt& doubt) {
  return std::to_string(doubt.agreeing) + " of " + std::to_string(doubt.others) +
         " other configurations of " + doubt.kernel +
         " agree with each other and not with its default: it may be the default that is wrong";
}

/// A search that ended before everything was evaluated.
struct Unfinished {
  /// Probability that something more than `percent` faster is left; nullopt: nothing is known.
  std::optional<double> chance_of_better;
  double percent = 1;             ///< How much faster counts as better.
  bool by_itself = false;         ///< Whether it ended because that probability was small.
  std::uint64_t evaluations = 0;  ///< Evaluations, including known results.
  std::uint64_t last_gain = 0;    ///< Number of the last one that gained more than 1 %.
  /// Evaluations of an earlier search on this model that these confirm; 0 if there are none.
  std::uint64_t elsewhere = 0;

  bool operator==(const Unfinished&) const = default;
};

/// The results of one problem at the end of a run.
struct ProblemSummary {
  Problem problem;
  std::vector<Result> results;  ///< From this run and known ones, in the order told.
  Bests bests;
  std::uint64_t cartesian = 0;             ///< Points of the Cartesian product, saturating.
  std::optional<std::uint64_t> valid = 0;  ///< Configurations; nullopt: too many to count.
  std::uint64_t evaluated = 0;             ///< Evaluated in this run.
  std::uint64_t known = 0;
  /// A line for each parameter of which all values gave the same code, launches and arguments.
  std::vector<std::string> without_effect;
  /// Set if only the default says what is right, and most others contradict it: then any result may
  /// be wrong.
  std::optional<DefaultInDoubt> default_in_doubt;
  std::vector<FailurePattern> failure_patterns;  ///< Values that failures have in common.
  std::optional<StaticRejects> static_rejects;   ///< Set if they were turned off.
  std::optional<Unfinished> unfinished;          ///< Set if the search ended early.
  std::optional<Transfers> transfers;            ///< Set if they were asked for.
  std::vector<DerivedTolerance> derived;         ///< Tolerances that were derived on the device.

  /// Returns the best of all kernels; null if nothing was verified and timed.
  const Result* best() const { return bests.best(); }
};

struct TuningSummary {
  std::vector<ProblemSummary> problems;
  bool interrupted = false;  ///< Whether it was stopped.
  bool out_of_budget = false;
  double elapsed_s = 0;
  double device_s = 0;  ///< Time that devices were busy, together.
  std::uint64_t evaluated = 0;
  std::uint64_t worker_deaths = 0;
  std::map<std::string, std::uint64_t> evaluated_on;  ///< Evaluations of each unit, by UUID.
  std::optional<Failure> first_failure;  ///< With its log, for the case that nothing worked.
};

}  // namespace smemtune
