#pragma once

#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"

#include <map>
#include <string>
#include <vector>

namespace smemtune {

/// A lower bound on the time of one evaluation: some work, and the time that the device needs for
/// it whatever the kernel's code.
struct LeastTime {
  double ms = 0;
  std::string work;    ///< Text of the work: `268.4 MB of outputs beyond the L2 at 3,352 GB/s`.
  std::string metric;  ///< Metric that declares the work; empty for outputs, which are certain.

  /// Returns whether a measured time is impossible. A clock may be set somewhat above the one that
  /// the driver reports, so only a time that is shorter by more than a tenth is impossible.
  bool rules_out(double taken_ms) const { return taken_ms < 0.9 * ms; }

  /// Explains a time: `took 3.1 us; 268.4 MB of outputs beyond the L2 at 3,352 GB/s take at least
  /// 80.1 us`.
  std::string text(double taken_ms) const;
};

/// Returns lower bounds for the work that is known to need time:
/// - writing the outputs that are compared element by element: their bytes, less those that the L2
///   may keep, at the memory's bandwidth;
/// - `bytes`, as the space declares them, likewise, but at most the bytes of the kernel's buffers,
///   because the caches decide how often a byte is read again;
/// - `flops`, as declared, at the peak of the fastest unit for the narrowest of the buffers' types
///   (operations_per_s()), or of all units if integers may stand for packed narrower numbers.
/// Empty for a CPU; a part whose peak is not known is left out. `sm_clock_mhz`: clock measured
/// together with the time; 0 when not known.
std::vector<LeastTime> least_times(const KernelInstance& instance,
                                   const std::map<std::string, double>& metrics,
                                   const Device& device, double sm_clock_mhz);

}  // namespace smemtune
