// Stands in for CUDA's header: half precision in memory, arithmetic in float and rounded to nearest
// even.

#pragma once

#include "cuda_on_host.h"

namespace smemtune {

SMEMTUNE_INLINE unsigned short float_to_half(float value) {
  const unsigned bits = bits_as<unsigned>(value);
  const unsigned sign = bits >> 16 & 0x8000u;
  const unsigned magnitude = bits & 0x7fffffffu;
  unsigned half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7fffu;
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;  // 65520 and more round to infinity.
  } else if (magnitude >= 0x38800000u) {
    const unsigned rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    half = (rounded - 0x38000000u) >> 13;
  } else {
    // Subnormal: the last bit is worth 2^-24, as in floats between 0.5 and 1, so adding rounds it.
    half = bits_as<unsigned>(bits_as<float>(magnitude) + 0.5f) - 0x3f000000u;
  }
  return static_cast<unsigned short>(sign | half);
}

SMEMTUNE_INLINE float half_to_float(unsigned short half) {
  const unsigned sign = (half & 0x8000u) << 16;
  const unsigned magnitude = half & 0x7fffu;
  unsigned bits = 0;
  if (magnitude >= 0x7c00u) {
    bits = magnitude << 13 | 0x7f800000u;
  } else if (magnitude >= 0x0400u) {
    bits = (magnitude << 13) + 0x38000000u;
  } else {
    bits = bits_as<unsigned>(static_cast<float>(magnitude) * 0x1p-24f);
  }
  return bits_as<float>(sign | bits);
}

}  // namespace smemtune

struct __half {
  unsigned short bits;

  __half() = default;
  SMEMTUNE_INLINE __half(float value) : bits(::smemtune::float_to_half(value)) {}
  SMEMTUNE_INLINE __half(double value) : __half(static_cast<float>(value)) {}
  SMEMTUNE_INLINE __half(int value) : __half(static_cast<float>(value)) {}
  SMEMTUNE_INLINE __half(unsigned value) : __half(static_cast<float>(value)) {}
  SMEMTUNE_INLINE operator float() const { return ::smemtune::half_to_float(bits); }
};

#define SMEMTUNE_SMALL_FLOAT __half
#define SMEMTUNE_SMALL_FLOAT2 __half2
#include "small_float.h"
#undef SMEMTUNE_SMALL_FLOAT
#undef SMEMTUNE_SMALL_FLOAT2

using half = __half;
using half2 = __half2;

SMEMTUNE_INLINE __half __float2half(float x) { return __half(x); }
SMEMTUNE_INLINE __half __float2half_rn(float x) { return __half(x); }
SMEMTUNE_INLINE __half __double2half(double x) { return __half(x); }
SMEMTUNE_INLINE __half __int2half_rn(int x) { return __half(x); }
SMEMTUNE_INLINE float __half2float(__half x) { return x; }
SMEMTUNE_INLINE __half __uint2half_rn(unsigned x) { return __half(x); }
SMEMTUNE_INLINE __half __short2half_rn(short x) { return __half(int(x)); }
SMEMTUNE_INLINE __half __ushort2half_rn(unsigned short x) { return __half(int(x)); }
SMEMTUNE_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
SMEMTUNE_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
SMEMTUNE_INLINE __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
SMEMTUNE_INLINE __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
SMEMTUNE_INLINE __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
#define SMEMTUNE_HALF_TO(name, T)                                                          \
  SMEMTUNE_INLINE T __half2##name##_rn(__half x) { return __float2##name##_rn(float(x)); } \
  SMEMTUNE_INLINE T __half2##name##_rz(__half x) { return __float2##name##_rz(float(x)); } \
  SMEMTUNE_INLINE T __half2##name##_rd(__half x) { return __float2##name##_rd(float(x)); } \
  SMEMTUNE_INLINE T __half2##name##_ru(__half x) { return __float2##name##_ru(float(x)); }
SMEMTUNE_HALF_TO(int, int)
SMEMTUNE_HALF_TO(uint, unsigned)
SMEMTUNE_HALF_TO(ll, long long)
SMEMTUNE_HALF_TO(ull, unsigned long long)
#undef SMEMTUNE_HALF_TO
SMEMTUNE_INLINE __half __ushort_as_half(unsigned short bits) {
  return ::smemtune::bits_as<__half>(bits);
}
SMEMTUNE_INLINE unsigned short __half_as_ushort(__half x) { return x.bits; }
SMEMTUNE_INLINE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
SMEMTUNE_INLINE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
SMEMTUNE_INLINE __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
SMEMTUNE_INLINE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
SMEMTUNE_INLINE __half2 __half2half2(__half x) { return {x, x}; }
SMEMTUNE_INLINE __half2 make_half2(__half x, __half y) { return {x, y}; }
SMEMTUNE_INLINE float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
SMEMTUNE_INLINE float __low2float(__half2 v) { return v.x; }
SMEMTUNE_INLINE float __high2float(__half2 v) { return v.y; }
SMEMTUNE_INLINE __half __low2half(__half2 v) { return v.x; }
SMEMTUNE_INLINE __half __high2half(__half2 v) { return v.y; }
