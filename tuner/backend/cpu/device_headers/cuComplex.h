// Stands in for CUDA's header: complex numbers as two components, with its names.

#pragma once

#include "cuda_on_host.h"

#define SMEMTUNE_COMPLEX(Complex, Real, Pair, Root, suffix, Make)                \
  using Complex = Pair;                                                          \
  SMEMTUNE_INLINE Complex Make(Real x, Real y) { return Complex{x, y}; }         \
  SMEMTUNE_INLINE Real cuCreal##suffix(Complex z) { return z.x; }                \
  SMEMTUNE_INLINE Real cuCimag##suffix(Complex z) { return z.y; }                \
  SMEMTUNE_INLINE Complex cuConj##suffix(Complex z) { return Make(z.x, -z.y); }  \
  SMEMTUNE_INLINE Complex cuCadd##suffix(Complex a, Complex b) {                 \
    return Make(a.x + b.x, a.y + b.y);                                           \
  }                                                                              \
  SMEMTUNE_INLINE Complex cuCsub##suffix(Complex a, Complex b) {                 \
    return Make(a.x - b.x, a.y - b.y);                                           \
  }                                                                              \
  SMEMTUNE_INLINE Complex cuCmul##suffix(Complex a, Complex b) {                 \
    return Make(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);                   \
  }                                                                              \
  SMEMTUNE_INLINE Complex cuCdiv##suffix(Complex a, Complex b) {                 \
    const Real norm = b.x * b.x + b.y * b.y;                                     \
    return Make((a.x * b.x + a.y * b.y) / norm, (a.y * b.x - a.x * b.y) / norm); \
  }                                                                              \
  SMEMTUNE_INLINE Complex cuCfma##suffix(Complex a, Complex b, Complex c) {      \
    return cuCadd##suffix(cuCmul##suffix(a, b), c);                              \
  }                                                                              \
  SMEMTUNE_INLINE Real cuCabs##suffix(Complex z) { return Root(z.x, z.y); }

SMEMTUNE_COMPLEX(cuFloatComplex, float, float2, __builtin_hypotf, f, make_cuFloatComplex)
SMEMTUNE_COMPLEX(cuDoubleComplex, double, double2, __builtin_hypot, , make_cuDoubleComplex)
#undef SMEMTUNE_COMPLEX

using cuComplex = cuFloatComplex;
SMEMTUNE_INLINE cuComplex make_cuComplex(float x, float y) { return make_cuFloatComplex(x, y); }
SMEMTUNE_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) {
  return make_cuDoubleComplex(z.x, z.y);
}
SMEMTUNE_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return make_cuFloatComplex(static_cast<float>(z.x), static_cast<float>(z.y));
}
