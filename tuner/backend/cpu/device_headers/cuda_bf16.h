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
SMEMTUNE_INLINE __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
SMEMTUNE_INLINE __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(x); }
SMEMTUNE_INLINE int __bfloat162int_rn(__nv_bfloat16 x) { return __float2int_rn(float(x)); }
SMEMTUNE_INLINE int __bfloat162int_rz(__nv_bfloat16 x) { return __float2int_rz(float(x)); }
SMEMTUNE_INLINE __nv_bfloat162 __float2bfloat162_rn(float x) {
  return {__nv_bfloat16(x), __nv_bfloat16(x)};
}
SMEMTUNE_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) {
  return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)};
}
SMEMTUNE_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
SMEMTUNE_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
SMEMTUNE_INLINE float __low2float(__nv_bfloat162 v) { return v.x; }
SMEMTUNE_INLINE float __high2float(__nv_bfloat162 v) { return v.y; }
SMEMTUNE_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
SMEMTUNE_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
SMEMTUNE_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return ::smemtune::bits_as<__nv_bfloat16>(bits);
}
SMEMTUNE_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
SMEMTUNE_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__nv_bfloat16(x), __nv_bfloat16(y)};
}
SMEMTUNE_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
  return {x, y};
}
SMEMTUNE_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }
