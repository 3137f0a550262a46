// Values that the compiler does not look through: what would be left out is measured then, and what
// is cheap is computed where it is needed.

#pragma once

/// `value`, which the compiler neither computes in advance nor takes for the same when it is asked
/// for again. Costs no instruction. ptxas still knows constants (for those pass an argument), and
/// leaves out what no result depends on.
template <typename T>
__device__ __forceinline__ T opaque(T value) {
  static_assert(sizeof(T) == 4, "one register");
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(reinterpret_cast<unsigned&>(value)));
#endif
  return value;
}
