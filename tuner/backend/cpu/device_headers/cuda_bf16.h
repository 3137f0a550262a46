// Stands in for CUDA's header: bfloat16 in memory, arithmetic in float and rounded to nearest even.

#pragma once

#include "cuda_on_host.h"

struct __nv_bfloat16 {
  unsigned short bits;

  __nv_bfloat16() = default;
  SMEMTUNE_INLINE __nv_bfloat16(float value) {
    const unsigned from = ::smemtune::bits_as<unsigned>(value);
    const bool is_nan = (from & 0x7fffffffu) > 0x7f800000u;
    bits =
        is_nan ? 0x7fffu : static_cast<unsigned short>((from + 0x7fffu + (from >> 16 & 1u)) >> 16);
  }
  SMEMTUNE_INLINE __nv_bfloat16(double value) : __nv_bfloat16(static_cast<float>(value)) {}
  SMEMTUNE_INLINE __nv_bfloat16(int value) : __nv_bfloat16(static_cast<float>(value)) {}
  SMEMTUNE_INLINE __nv_bfloat16(unsigned value) : __nv_bfloat16(static_cast<float>(value)) {}
  SMEMTUNE_INLINE operator float() const {
    return ::smemtune::bits_as<float>(static_cast<unsigned>(bits) << 16);
  }
};

#define SMEMTUNE_SMALL_FLOAT __nv_bfloat16
#define SMEMTUNE_SMALL_FLOAT2 __nv_bfloat162
#include "small_float.h"
#undef SMEMTUNE_SMALL_FLOAT
#undef SMEMTUNE_SMALL_FLOAT2

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

SMEMTUNE_INLINE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
SMEMTUNE_INLINE __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
SMEMTUNE_INLINE float __bfloat162float(__nv_bfloat16 x) { return x; }
SMEMTUNE_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
SMEMTUNE_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
SMEMTUNE_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }
