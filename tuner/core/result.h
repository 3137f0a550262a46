#pragma once

#include "tuner/core/compared_output.h"
#include "tuner/core/facts.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/limits.h"
#include "tuner/core/measurement.h"
#include "tuner/core/outcome.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A configuration of one of a space's kernels.
struct KernelConfiguration {
  std::string kernel;
  Configuration configuration;

  bool operator==(const KernelConfiguration&) const = default;
};

/// How far a measurement was taken. The words are stored: never rename one.
enum class Stage { none, screen, race, final };

std::string to_text(Stage stage);
Stage parse_stage(const std::string& word);  ///< Throws InputError.

/// One launch of a configuration: its shape, resources and occupancy.
struct LaunchResult {
  LaunchShape shape;
  Resources resources;
  Occupancy occupancy;
  double time_ms = 0;  ///< Time of all its repetitions, measured alone; 0: not known.
  Facts facts = {};    ///< Known of finalists, but energy also of others; else empty.

  bool operator==(const LaunchResult&) const = default;

  /// Returns the shared memory of a block, static and dynamic.
  std::int64_t shared_bytes() const {
    return resources.static_shared_bytes + shape.dynamic_shared_bytes;
  }
};

/// The run of a finalist of a GPU on the CPU device, which watches every access to shared memory,
/// so that it finds two threads that race for an element whatever came of it.
struct CpuCheck {
  std::string kernel;
  Configuration configuration;
  Problem problem;                 ///< The problem that it was run on.
  std::uint64_t blocks = 0;        ///< Blocks that were run...
  std::uint64_t blocks_total = 0;  ///< ... of this many. Both are 0 if it was not run to its end.
  std::optional<Failure> found = std::nullopt;
  std::string not_run = {};  ///< Why it was not run; empty if it was.

  bool has_race() const { return found && found->reason == "race"; }
  bool operator==(const CpuCheck&) const = default;
};

/// The doubt that the search before the finals left about a space.
struct Searched {
  double percent = 1;           ///< How much faster counts as better, in per cent.
  double chance_of_better = 0;  ///< Probability that something better is left; 0 where nothing is.
  std::uint64_t evaluated = 0;  ///< Configurations with a result, known ones included...
  std::uint64_t valid = 0;      ///< ... of this many.
  std::uint64_t elsewhere = 0;  ///< Evaluations of earlier searches on which the chance rests, too.
  std::string kernels_sha256 = {};  ///< Over the hashes of the kernels that were searched.

  bool operator==(const Searched&) const = default;
};

/// Facts of a run's finals, kept with the configuration that they chose.
struct FinalsFacts {
  /// Distance between the leader's two series (A/A), in per cent.
  std::optional<double> noise_percent;
  /// How much slower its kernel's default was in the same rounds; nullopt if it is the default, or
  /// the default was not in the finals.
  std::optional<Slowdown> default_slower;
  /// Finalists that the CPU device ran, in the order in which they would have won.
  std::vector<CpuCheck> cpu_checks;
  /// Nullopt where it is not known, as after a list of configurations.
  std::optional<Searched> searched = std::nullopt;

  bool operator==(const FinalsFacts&) const = default;
};

/// The outcome of one configuration of one kernel on one problem.
struct Result {
  std::string kernel;
  Problem problem;
  Configuration configuration;
  Status status = Status::correct;
  std::string reason;  ///< Empty for `correct`.
  std::string detail;
  std::vector<LaunchResult> launches;  ///< Empty if it was rejected before compiling.
  Stage stage = Stage::none;
  Measurement measurement;                ///< Only with status `correct` and a stage.
  std::map<std::string, double> metrics;  ///< Work per evaluation: `flops`, `bytes`, ...
  // Largest errors of a timed result; NaN if it was given up, or another tuner
  // compared it.
  double max_absolute_error = 0;
  double max_relative_error = 0;
  // Durations; 0 if it was not done, or is not known.
  double compile_ms = 0;
  double verify_ms = 0;
  double first_launch_ms = 0;  ///< Time of the whole kernel when it was first launched.
  std::string cubin_sha256;
  std::string unit;  ///< UUID of the board it ran on last; empty if it ran on none.
  /// True if it was given up after one sample or two, which showed that it cannot win: their outputs
  /// were compared, on the tuned problem only.
  bool given_up = false;
  bool chosen = false;        ///< Whether the finals of its run chose it as the best.
  bool tied = false;          ///< Whether those finals could not tell it from the chosen one.
  FinalsFacts finals;         ///< Empty unless it was chosen.
  bool is_default = false;    ///< Whether it is the kernel's default configuration.
  bool is_reference = false;  ///< Whether its kernel is the reference.
  ComparedWith compared_with = ComparedWith::unknown;  ///< The verdict that `compared` amounts to.
  /// Comparisons, the tuned problem first. Empty if it was not found correct, and in results stored
  /// when `compared_with` followed from the contents of the space file.
  std::vector<ComparedOutput> compared;

  bool operator==(const Result&) const = default;

  Coverage coverage() const { return coverage_of(compared_with, compared); }

  /// Returns true if it is known not to work; a dry run only finds out that it fits.
  bool failed() const { return status != Status::correct && status != Status::fits; }

  bool timed() const { return status == Status::correct && stage != Stage::none; }

  /// Returns true if it was given up after a first launch that showed that it cannot win, and was
  /// stored as a failure by a version before 0.3; it is not known to be correct.
  bool behind() const;

  /// Returns true if it was given up early, by whatever version.
  bool lost_early() const { return given_up || behind(); }

  /// Returns the median, or the time of that first launch; nullopt if neither is known.
  std::optional<double> time_ms() const;

  /// Returns the shared memory of a block, of the launch that has most.
  std::int64_t shared_bytes() const;
};

/// Returns whether a launch of it has facts of a kind (facts.h).
bool has_facts(const Result& result, const char* kind);

/// Whether it is a failure that says nothing lasting of its configuration (reasons.h).
bool is_transient(const Result& result);

}  // namespace smemtune
