// Stands in for CUDA's header: floats of 8 bits (e4m3) in memory, rounded to nearest even; what is
// too large becomes the largest number, as CUDA's constructors have it.

#pragma once

#include "cuda_on_host.h"

typedef unsigned char __nv_fp8_storage_t;

struct __nv_fp8_e4m3 {
  __nv_fp8_storage_t __x;

  __nv_fp8_e4m3() = default;
  SMEMTUNE_INLINE explicit __nv_fp8_e4m3(float value) {
    const unsigned bits = ::smemtune::bits_as<unsigned>(value);
    const unsigned magnitude = bits & 0x7fffffffu;
    unsigned rounded = 0;
    if (magnitude > 0x7f800000u) {
      rounded = 0x7fu;
    } else if (magnitude >= 0x43e00000u) {
      rounded = 0x7eu;  // 448
    } else if (magnitude >= 0x3c800000u) {
      rounded = (magnitude + 0x7ffffu + (magnitude >> 20 & 1u) - 0x3c000000u) >> 20;
    } else {
      // Subnormal: the last bit is worth 2^-9, as in floats from 2^14 on, so adding rounds it.
      rounded = ::smemtune::bits_as<unsigned>(::smemtune::bits_as<float>(magnitude) + 0x1p14f) -
                0x46800000u;
    }
    __x = static_cast<__nv_fp8_storage_t>((bits >> 24 & 0x80u) | rounded);
  }
  SMEMTUNE_INLINE explicit operator float() const {
    const unsigned sign = (__x & 0x80u) << 24;
    if ((__x & 0x7fu) == 0x7fu) return ::smemtune::bits_as<float>(sign | 0x7fffffffu);
    return ::smemtune::bits_as<float>(sign | (__x & 0x7fu) << 20) * 0x1p120f;
  }
};
