#pragma once

#include "tuner/core/derived_tolerance.h"
#include "tuner/core/failure_pattern.h"
#include "tuner/core/measurement.h"
#include "tuner/core/outcome.h"
#include "tuner/core/result.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// What static rejects would have kept from being timed, in a run without them.
struct StaticRejects {
  std::uint64_t rejected = 0;
  std::uint64_t top = 0;     ///< So many are the fastest 1 % of what was timed...
  std::vector<Result> lost;  ///< ... and these of them would have been rejected.
};

/// A reference of which most others say that it is wrong.
struct DefaultInDoubt {
  std::string kernel;
  std::uint64_t agreeing = 0;  ///< Other configurations of the kernel that agree with each other...
  std::uint64_t others = 0;    ///< ... of so many that were compared with its default.

  bool operator==(const DefaultInDoubt&) const = default;
};

/// `5 of 6 other configurations of twice agree with each other and not with its default: ...`.
std::string to_text(const DefaultInDoubt& doubt);

/// A search that ended before everything was evaluated.
struct Unfinished {
  double chance_of_better = 0;    ///< That something more than 1 % faster is left, 0 to 1.
  std::uint64_t evaluations = 0;  ///< With those that were known.
  std::uint64_t last_gain = 0;    ///< Which of these was the last to be faster by more than 1 %.

  bool operator==(const Unfinished&) const = default;
};

/// A finalist of a GPU that uses shared memory, and what the CPU device sees when it runs it: there
/// each access is looked at, and two threads that race for an element are found whatever came of
/// it.
struct CpuCheck {
  std::string kernel;
  Configuration configuration;
  Problem problem;           ///< On which it was run there.
  std::uint64_t blocks = 0;  ///< That were run...
  std::uint64_t of = 0;      ///< ... of so many. Both are 0 where it was not run to its end.
  std::optional<Failure> found = std::nullopt;
  std::string not_run = {};  ///< Why it was not; empty where it was.

  bool has_race() const { return found && found->reason == "race"; }
  bool operator==(const CpuCheck&) const = default;
};

/// What is known of a problem at the end.
struct ProblemSummary {
  Problem problem;
  std::vector<Result> results;             ///< Of this run and known ones, in the order told.
  std::optional<Result> best;              ///< Verified and timed.
  std::vector<Result> kernel_bests;        ///< As Bests::kernels: the first is the best of all.
  std::vector<Result> ties;                ///< Finalists that are statistically tied with the best.
  std::uint64_t cartesian = 0;             ///< Points of the product, saturating.
  std::optional<std::uint64_t> valid = 0;  ///< Configurations; nullopt: too many to count.
  std::uint64_t evaluated = 0;             ///< In this run.
  std::uint64_t known = 0;
  /// A line for each parameter of which all values gave the same code, launches and arguments.
  std::vector<std::string> without_effect;
  /// Where nothing but the default says what is right, and most others contradict it: then none of
  /// what was found right may be so.
  std::optional<DefaultInDoubt> default_in_doubt;
  std::vector<FailurePattern> failure_patterns;  ///< Which values the failures have in common.
  std::optional<StaticRejects> static_rejects;   ///< Where they were turned off.
  std::optional<Unfinished> unfinished;          ///< Where the search was, and timed anything.
  std::optional<double> noise_percent;           ///< A/A: the best against itself in the finals.
  std::optional<Transfers> transfers;            ///< Where they were asked for.
  std::vector<DerivedTolerance> derived;  ///< Where tolerances are and the device was needed.
  /// How much slower the default of the best's kernel was in the finals; nullopt when it is the
  /// best or no finals were held.
  std::optional<PairedDifference> default_slower;
  std::vector<CpuCheck> cpu_checks;  ///< In the order in which they would have won.
};

struct TuningSummary {
  std::vector<ProblemSummary> problems;
  bool interrupted = false;  ///< By stop.
  bool out_of_budget = false;
  double elapsed_s = 0;
  double device_s = 0;  ///< That devices were busy, together.
  std::uint64_t evaluated = 0;
  std::uint64_t worker_deaths = 0;
  std::map<std::string, std::uint64_t>
      evaluated_on;                      ///< Evaluations that a unit was given, by UUID.
  std::optional<Failure> first_failure;  ///< With its log, for the case that nothing worked.
};

}  // namespace smemtune
