#pragma once

#include "tuner/core/device.h"

namespace smemtune {

/// What a GPU could do at most, by its clocks and widths. Zero where it is not known.
struct Roofline {
  double flops_per_s = 0;  ///< Single precision, a fused multiply-add being two.
  double bytes_per_s = 0;  ///< Of global memory.

  /// The shortest time in which so much could be done.
  double least_ms(double flops, double bytes) const;

  bool operator==(const Roofline&) const = default;
};

/// Multiprocessors x single precision cores of one x 2 x clock, and bus width x 2 x memory clock
/// (memory sends twice per clock). Zeros for a CPU.
Roofline roofline(const Device& device);

/// Single precision cores of a multiprocessor (CUDA C++ Programming Guide, "Arithmetic
/// Instructions": results per clock of 32-bit floating-point multiply-add). 0 when not known.
int single_precision_cores(int compute_major, int compute_minor);

}  // namespace smemtune
