#pragma once

#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"

#include <map>
#include <string>
#include <vector>

namespace smemtune {

/// The most operations that a multiprocessor performs per clock, counting a fused multiply-add as
/// two, on dense matrices. Zero if the unit is missing or the rate is not known.
struct OperationRates {
  double float64 = 0;  ///< Rate of its cores or of its tensor cores, whichever is faster.
  double float32 = 0;  ///< Rate of its cores alone.
  double tf32 = 0;     ///< Rate of tensor cores on floats, which they round to 10 bits.
  double bits16 = 0;   ///< Rate on half and bfloat16.
  double bits8 = 0;    ///< Rate on FP8 and int8.
  double bits4 = 0;    ///< Rate on FP4 and int4.
};

/// Returns the arithmetic peaks from the only table of them; all zeros for an architecture that is
/// not in it.
OperationRates operation_rates(int compute_major, int compute_minor);

/// Upper bounds on a GPU's speed, from its clocks and widths. Zero if not known.
struct Roofline {
  double flops_per_s = 0;  ///< Single precision, counting a fused multiply-add as two.
  double bytes_per_s = 0;  ///< Bandwidth of global memory.

  /// Returns the shortest time in which this much work could be done.
  double least_ms(double flops, double bytes) const;

  bool operator==(const Roofline&) const = default;
};

/// Computes the roofline: multiprocessors x single precision cores of one x 2 x clock, and bus
/// width x 2 x memory clock (memory sends twice per clock). Zeros for a CPU; no bandwidth for a GPU
/// that shares the host's memory, because the driver does not tell that memory's clock.
Roofline roofline(const Device& device);

/// Returns the peaks, ascending, of the units that can do arithmetic on numbers of a type: the
/// cores of the type itself first, then tensor cores, for which a kernel may round wider numbers if
/// the tolerance allows it. Empty for integers of 32 and 64 bits, and if nothing is known.
std::vector<double> operations_per_s(const Device& device, ScalarType type);

/// Returns the slowest of these peaks at which this many operations can be done within `ms`, or the
/// highest peak if none suffices; 0 if none is known.
double peak_for(const Device& device, ScalarType type, double operations, double ms);

/// Returns the single precision cores of a multiprocessor (CUDA C++ Programming Guide, "Arithmetic
/// Instructions": results per clock of 32-bit floating-point multiply-add); 0 when not known.
int single_precision_cores(int compute_major, int compute_minor);

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
