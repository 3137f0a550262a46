// __half and __nv_bfloat16 for kernels that only move and round them, without NVIDIA's headers, which
// take longer to compile than such a kernel.

#pragma once

struct __half {
  unsigned short bits;
};
struct __nv_bfloat16 {
  unsigned short bits;
};

template <typename T>
constexpr bool is_half = false;
template <>
constexpr bool is_half<__half> = true;

/// Bytes of an element.
template <typename T>
constexpr int bytes_of = 2;
template <>
constexpr int bytes_of<float> = 4;

/// A float, rounded to the nearest T.
template <typename T>
__device__ __forceinline__ unsigned short rounded(float value) {
  const unsigned bits = __float_as_uint(is_half<T> ? value * 0x1p-112f : value);
  if constexpr (!is_half<T>) {
    return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
  }
  // Half a float's exponents and 13 digits less; what is too large becomes infinite.
  const unsigned size = ((bits & 0x7fffffffu) + 0xfffu + (bits >> 13 & 1u)) >> 13;
  return static_cast<unsigned short>((bits >> 16 & 0x8000u) | (size < 0x7c00u ? size : 0x7c00u));
}

/// Two floats, rounded to T; the first is the lower half.
template <typename T>
__device__ __forceinline__ unsigned pack(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  unsigned packed;
  if constexpr (is_half<T>) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  }
  return packed;
#else
  return rounded<T>(low) | static_cast<unsigned>(rounded<T>(high)) << 16;
#endif
}

/// Element `index` of an array of T.
template <typename T>
__device__ __forceinline__ float element(const T* array, long long index) {
  const unsigned bits = array[index].bits;
  if constexpr (!is_half<T>) return __uint_as_float(bits << 16);
  const unsigned sign = (bits & 0x8000u) << 16;
  if ((bits & 0x7c00u) == 0x7c00u) return __uint_as_float(sign | 0x7f800000u | bits << 13);
  return __uint_as_float(sign | (bits & 0x7fffu) << 13) * 0x1p112f;
}

/// Rounds a float to element `index` of an array of T, or stores it there.
template <typename T>
__device__ __forceinline__ void set_element(T* array, long long index, float value) {
  array[index].bits = static_cast<unsigned short>(pack<T>(value, value));
}
__device__ __forceinline__ void set_element(float* array, long long index, float value) {
  array[index] = value;
}
