#pragma once

#include "tuner/core/limits.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace smemtune {

/// When to stop.
struct Budget {
  std::uint64_t max_evaluations = UINT64_MAX;  ///< Configurations compiled or measured in this run.
  double max_seconds = 0;                      ///< 0: no limit.
  double max_device_seconds = 0;               ///< That devices are busy, together; 0: none.
};

struct TuningOptions {
  std::uint64_t seed = 1;
  std::string strategy = "auto";
  bool cold = false;  ///< Learn nothing from other problems and devices.
  Budget budget;
  ResourceLimits resource_limits;
  int screen_samples = 3;     ///< Cold samples of every variant...
  double screen_ms = 25;      ///< ... or fewer, when they took so long together.
  std::size_t finalists = 8;  ///< Measured again at the end, interleaved.
  /// Rounds of the finals, in each of two blocks. Where all of them would keep the device for more
  /// than so many seconds it is as many as fit, but no less than the least.
  std::size_t final_rounds = 60;
  std::size_t least_final_rounds = 15;
  double final_seconds = 5;
  double tie_percent = 0.5;        ///< Finalists that differ by less are declared tied.
  bool static_reject = true;       ///< Do not time what the compiler's report makes hopeless.
  bool early_loss = true;          ///< Give up what its first launch shows to be behind.
  bool retry_quarantined = false;  ///< Try again what took the machine down twice.
  bool with_transfers = false;     ///< Measure the copies between host and device, too.
  bool resume = true;              ///< Use what the log knows; false: measure everything again.
  /// Asked and not yet told: how far compiling runs ahead. 0: where the strategy learns, by one for
  /// each compile worker and two for each device; else by four for each compile worker, so that
  /// none of them waits for one that takes long, and by 64 at least.
  std::size_t window = 0;
  /// Until it is known what a first launch says, a configuration whose first sample is slower than
  /// so many times the best of its kernel is sampled no further; a default always is.
  double cut_factor = 2;
  /// Loading, verifying and sampling one configuration may take the least, twice as long as it took
  /// the best of its kernel, and 20 times what its launches took the device, but not more than the
  /// most; then it counts as hung. A default, and whatever comes before any other of its kernel
  /// came through, may take the most.
  double min_deadline_s = 5;
  double max_deadline_s = 60;
  /// When the time is up, or stop is asked for, what is on a device may take so much longer.
  double grace_s = 0.5;
  double prepare_deadline_s = 300;  ///< Filling buffers and running and checking the reference.
};

}  // namespace smemtune
