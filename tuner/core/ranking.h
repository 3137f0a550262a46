#pragma once

#include "tuner/core/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

// The one place that decides which configuration is the best, and which of those that are tied.
// db/README.md states the rule.

namespace smemtune {

/// A stored time of a configuration.
struct Timed {
  std::int64_t result_id = 0;  ///< Grows with time.
  std::int64_t run_id = 0;
  std::int64_t configuration_id = 0;  ///< Unique over kernels.
  Stage stage = Stage::none;
  bool chosen = false;  ///< The finals of its run chose it as the best.
  double median_ms = 0;
};

/// The times and failures of the configurations of one kernel, or of several, for a problem on a
/// device model.
struct TimingHistory {
  std::vector<Timed> newest;  ///< The newest time of each configuration that stands.
  std::vector<Timed> finals;  ///< Every final time of configurations that stand.
  std::vector<Timed> failed;  ///< The newest result of each that fails, without a time.
  /// Runs whose finals chose one of these configurations, even one that has failed since.
  std::set<std::int64_t> choosing_runs;
};

/// A stored result of a configuration: a time, or a failure.
struct RankedRow {
  bool correct = false;
  Timed timed;
};

/// Adds one configuration. `rows`: its results in their order, without those that
/// are correct and not timed. `is_transient`: whether a failure says nothing lasting; it is asked
/// only where that matters.
void add_configuration(TimingHistory& history, const std::vector<RankedRow>& rows,
                       const std::function<bool(const Timed&)>& is_transient);

/// Returns the index in `newest` of the best configuration; nullopt when nothing stands.
std::optional<std::size_t> best_of(const TimingHistory& history);

/// A result and the run that it is from.
struct RunResult {
  const Result* result = nullptr;
  std::string run = {};
};

/// Returns the best of each kernel: the best of all first, the others by time. `results`: for one
/// problem on one device, in the order in which they were recorded.
std::vector<const Result*> best_of_each_kernel(const std::vector<RunResult>& results);

/// The best configurations for a problem, by the rule that db/README.md states.
struct Bests {
  std::vector<Result> kernels;  ///< The best of each kernel: the best of all first, then by time.
  std::vector<Result> tied;     ///< Finalists that are statistically tied with the best of all.

  /// Returns the best of all; null if nothing was timed.
  const Result* best() const { return kernels.empty() ? nullptr : &kernels.front(); }
  /// Returns the kernel's best; null if none was timed.
  const Result* best_of(const std::string& kernel) const;
};

/// Returns the one to prefer among finalists that are statistically tied: of those that seem
/// equally fast (within `tie_percent` of the fastest median; on a noisy device ties may differ by
/// much) the one that earlier finals chose, then the one with less shared memory, then the one with
/// fewer registers, then the faster one. REQUIRES: tied is not empty.
const Result& preferred(std::vector<const Result*> tied, double tie_percent);

}  // namespace smemtune
