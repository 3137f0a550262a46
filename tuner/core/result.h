#pragma once

#include "tuner/core/compared_output.h"
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

/// How far a measurement was taken. A best comes from finals only where finals were run. The words
/// are stored: never rename one.
enum class Stage { none, screen, race, final };

std::string to_text(Stage stage);
Stage parse_stage(const std::string& word);  ///< Throws InputError.

/// What is known of one launch of a configuration.
struct LaunchResult {
  LaunchShape shape;
  Resources resources;
  Occupancy occupancy;
  double time_ms = 0;  ///< By itself, all its repetitions together; 0: not known.

  bool operator==(const LaunchResult&) const = default;

  /// Of a block, static and dynamic.
  std::int64_t shared_bytes() const {
    return resources.static_shared_bytes + shape.dynamic_shared_bytes;
  }
};

/// What became of one configuration of one kernel on one problem.
struct Result {
  std::string kernel;
  Problem problem;
  Configuration configuration;
  Status status = Status::correct;
  std::string reason;  ///< Empty for `correct`.
  std::string detail;
  std::vector<LaunchResult> launches;  ///< Empty when it was rejected before compiling.
  Stage stage = Stage::none;
  Measurement measurement;                ///< Only with status `correct` and a stage.
  std::map<std::string, double> metrics;  ///< Work per evaluation: `flops`, `bytes`, ...
  // Of one that is timed, where its results were compared here; NaN: not known.
  double max_absolute_error = 0;
  double max_relative_error = 0;
  // 0: it was not done, or how long it took is not known.
  double compile_ms = 0;
  double verify_ms = 0;
  double first_launch_ms = 0;  ///< Of the whole kernel, when it was verified.
  std::string cubin_sha256;
  std::string unit;           ///< UUID of the board it ran on last; empty when it ran on none.
  bool chosen = false;        ///< The finals of its run chose it as the best.
  bool tied = false;          ///< Those finals could not tell it from the one that they chose.
  bool is_default = false;    ///< The kernel's default configuration.
  bool is_reference = false;  ///< Of the kernel that the others were compared with.
  ComparedWith compared_with = ComparedWith::unknown;  ///< What `compared` amounts to.
  /// The tuned problem first. Empty where it was not found correct, and in what was stored when
  /// `compared_with` followed from what the space file contained.
  std::vector<ComparedOutput> compared;

  bool operator==(const Result&) const = default;

  Coverage coverage() const { return coverage_of(compared_with, compared); }

  /// Dry runs find out no more than that it fits.
  bool failed() const { return status != Status::correct && status != Status::fits; }

  bool timed() const { return status == Status::correct && stage != Stage::none; }

  /// Given up after a first launch that showed that it cannot win. Not known to be correct.
  bool behind() const;

  /// How long it takes: the median, or what that first launch took; nullopt: not known.
  std::optional<double> time_ms() const;

  /// Of a block of the launch that has most.
  std::int64_t shared_bytes() const;
};

/// Whether it is a failure that says nothing lasting of its configuration (reasons.h).
bool is_transient(const Result& result);

}  // namespace smemtune
