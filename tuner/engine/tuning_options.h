#pragma once

#include "tuner/core/limits.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace smemtune {

/// Limits at which the search ends.
struct Budget {
  std::uint64_t max_evaluations = UINT64_MAX;  ///< Configurations compiled or measured in this run.
  double max_seconds = 0;                      ///< 0: no limit.
  double max_device_seconds = 0;               ///< Busy time of all devices together; 0: no limit.
  /// Ends a search that learns when the chance that something more than this many percent faster
  /// is left is below 5 %; 0: never. Nullopt: 1 where there is no other limit.
  std::optional<double> until_percent = std::nullopt;

  /// Returns the percentage that is in force, 0 where none is.
  double until() const {
    const bool is_limited =
        max_evaluations != UINT64_MAX || max_seconds > 0 || max_device_seconds > 0;
    return until_percent.value_or(is_limited ? 0 : 1);
  }
};

struct TuningOptions {
  std::uint64_t seed = 1;
  std::string strategy = "auto";
  bool cold = false;  ///< Learn nothing from other problems and devices.
  Budget budget;
  ResourceLimits resource_limits;
  int screen_samples = 3;     ///< Cold samples of every variant.
  double screen_ms = 25;      ///< Fewer samples when they have taken this long together.
  std::size_t finalists = 8;  ///< Measured again at the end, interleaved.
  /// Most rounds of the finals, in each of two blocks. When they would take more than
  /// `final_seconds` of device time, as many rounds as fit, but at least `least_final_rounds`.
  std::size_t final_rounds = 60;
  std::size_t least_final_rounds = 15;
  double final_seconds = 5;
  double tie_percent = 0.5;        ///< Finalists that differ by less are declared tied.
  bool static_reject = true;       ///< Do not time what the compiler's report makes hopeless.
  bool early_loss = true;          ///< Give up configurations that are behind by their first
                                   ///< launch.
  bool retry_quarantined = false;  ///< Retry configurations that took the machine down twice.
  bool with_transfers = false;     ///< Measure the copies between host and device, too.
  bool counters = false;           ///< Read hardware counters of finalists.
  bool energy = false;             ///< Read the energy of finalists.
  double energy_within = 0;  ///< With energy: also read that of all that take at most so many times
                             ///< the time of the best; 0: of none.
  bool resume = true;        ///< Use results from the log; false: measure all again.
  /// How many configurations may be asked for and not yet told, which is how far compiling runs
  /// ahead. 0: when the strategy learns, one for each compile worker and two for each device, and
  /// others in place of those that have a result and wait for one asked earlier; else four for each
  /// compile worker, so that none of them waits for a slow compilation, and at least 64.
  std::size_t window = 0;
  /// Until enough first launches have been seen, a configuration whose first sample is slower than
  /// this many times the best of its kernel is sampled no further; a default always is.
  double cut_factor = 2;
  /// The deadline for loading, verifying and sampling a configuration, after which it counts as
  /// hung: the minimum, plus twice the time that the best of its kernel took, plus 20 times what
  /// its launches took the device, but at most the maximum. A default, and every configuration
  /// until one of its kernel succeeds, gets the maximum.
  double min_deadline_s = 5;
  double max_deadline_s = 60;
  /// How much longer work on a device may take when the time is up or stop is requested.
  double grace_s = 0.5;
  double prepare_deadline_s = 300;  ///< For filling buffers, running and checking the reference.
};

}  // namespace smemtune
