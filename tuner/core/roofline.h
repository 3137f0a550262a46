#pragma once

#include "tuner/core/device.h"

#include <vector>

namespace smemtune {

/// The most operations that a multiprocessor does in a clock, a fused multiply-add being two and
/// matrices dense. Zero where the unit is missing or not known.
struct OperationRates {
  double float64 = 0;  ///< The faster of its cores and its tensor cores.
  double float32 = 0;  ///< Of its cores alone.
  double tf32 = 0;     ///< Tensor cores on floats, which they round to 10 bits.
  double bits16 = 0;   ///< Half and bfloat16.
  double bits8 = 0;    ///< FP8 and int8.
  double bits4 = 0;    ///< FP4 and int4.
};

/// The one table of arithmetic peaks. All zeros for an architecture that is not in it.
OperationRates operation_rates(int compute_major, int compute_minor);

/// What a GPU could do at most, by its clocks and widths. Zero where it is not known.
struct Roofline {
  double flops_per_s = 0;  ///< Single precision, a fused multiply-add being two.
  double bytes_per_s = 0;  ///< Of global memory.

  /// The shortest time in which so much could be done.
  double least_ms(double flops, double bytes) const;

  bool operator==(const Roofline&) const = default;
};

/// Multiprocessors x single precision cores of one x 2 x clock, and bus width x 2 x memory clock
/// (memory sends twice per clock). Zeros for a CPU; no bandwidth for a GPU that shares the host's
/// memory, whose clock the driver does not tell.
Roofline roofline(const Device& device);

/// The peaks, ascending, of the units that can do arithmetic on numbers of a type: the cores of the
/// type itself first, then tensor cores, which a kernel may round wider numbers for where the
/// tolerance allows. Empty for integers of 32 and 64 bits, and where nothing is known.
std::vector<double> operations_per_s(const Device& device, ScalarType type);

/// The slowest of these peaks at which so many operations can be done in so short a time, or the
/// highest where none suffices; 0 where none is known.
double peak_for(const Device& device, ScalarType type, double operations, double ms);

/// Single precision cores of a multiprocessor (CUDA C++ Programming Guide, "Arithmetic
/// Instructions": results per clock of 32-bit floating-point multiply-add). 0 when not known.
int single_precision_cores(int compute_major, int compute_minor);

}  // namespace smemtune
