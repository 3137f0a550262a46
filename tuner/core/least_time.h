#pragma once

#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"

#include <map>
#include <string>
#include <vector>

namespace smemtune {

/// Work of one evaluation, and the time that the device needs for it whatever the kernel's code.
struct LeastTime {
  double ms = 0;
  std::string work;    ///< `268.4 MB of outputs beyond the L2 at 3,352 GB/s`
  std::string metric;  ///< The metric that declares the work; empty: outputs, which are certain.

  /// A clock may be set somewhat above the one that the driver reports: only a time that is shorter
  /// by more than a tenth is impossible.
  bool rules_out(double taken_ms) const { return taken_ms < 0.9 * ms; }

  /// `took 3.1 us; 268.4 MB of outputs beyond the L2 at 3,352 GB/s take at least 80.1 us`
  std::string text(double taken_ms) const;
};

/// What is known to need time:
/// - outputs that are compared element by element are written: their bytes, less those that the L2
///   may keep, at the memory's bandwidth;
/// - `bytes`, as the space declares them, likewise, but no more than the kernel's buffers hold: how
///   often a byte is read again, the caches decide;
/// - `flops`, as declared, at the peak of the fastest unit for the narrowest of its types
///   (operations_per_s()); where integers may stand for packed narrower numbers, of all units.
/// Empty for a CPU, and without the part whose peak is not known. `sm_clock_mhz`: as measured with
/// the time; 0: not known.
std::vector<LeastTime> least_times(const KernelInstance& instance,
                                   const std::map<std::string, double>& metrics,
                                   const Device& device, double sm_clock_mhz);

}  // namespace smemtune
