// __half, __nv_bfloat16 and __nv_fp8_e4m3 for kernels that only move and round them, without NVIDIA's
// headers, which take longer to compile than such a kernel; and how elements of these, of float and
// of integers are read, summed up, and stored.

#pragma once

struct __half {
  unsigned short bits;
};
struct __nv_bfloat16 {
  unsigned short bits;
};
struct __nv_fp8_e4m3 {
  unsigned char bits;
};

using int8_t = signed char;

template <typename T, typename U>
constexpr bool is_same = false;
template <typename T>
constexpr bool is_same<T, T> = true;

template <typename T>
constexpr bool is_half = is_same<T, __half>;

/// What products of T are summed up in.
template <typename T>
struct SumOf {
  using Type = float;
};
template <>
struct SumOf<signed char> {
  using Type = int;
};

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

/// Two floats, rounded to T (16 bits); the first is the lower half.
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

/// The nearest integer of 8 bits, or the nearest end of their range.
__device__ __forceinline__ signed char saturated(float value) {
  return static_cast<signed char>(max(-128, min(127, __float2int_rn(value))));
}

/// Element `index` of an array of __half or __nv_bfloat16.
template <typename T>
__device__ __forceinline__ float element(const T* array, long long index) {
  const unsigned bits = array[index].bits;
  if constexpr (!is_half<T>) return __uint_as_float(bits << 16);
  const unsigned sign = (bits & 0x8000u) << 16;
  if ((bits & 0x7c00u) == 0x7c00u) return __uint_as_float(sign | 0x7f800000u | bits << 13);
  return __uint_as_float(sign | (bits & 0x7fffu) << 13) * 0x1p112f;
}
__device__ __forceinline__ float element(const __nv_fp8_e4m3* array, long long index) {
  const unsigned bits = array[index].bits;
  const unsigned sign = (bits & 0x80u) << 24;
  if ((bits & 0x7fu) == 0x7fu) return __uint_as_float(sign | 0x7fffffffu);
  return __uint_as_float(sign | (bits & 0x7fu) << 20) * 0x1p120f;
}
__device__ __forceinline__ int element(const signed char* array, long long index) {
  return array[index];
}

/// What is stored of a sum: times `scale`, but an integer as it is where integers are stored.
template <typename OUT, typename Sum>
__device__ __forceinline__ auto scaled(Sum sum, float scale) {
  if constexpr (is_same<OUT, int>) {
    return sum;
  } else {
    return static_cast<float>(sum) * scale;
  }
}

/// Rounds to element `index` of an array of T, or stores it there.
template <typename T>
__device__ __forceinline__ void set_element(T* array, long long index, float value) {
  array[index].bits = static_cast<unsigned short>(pack<T>(value, value));
}
__device__ __forceinline__ void set_element(float* array, long long index, float value) {
  array[index] = value;
}
__device__ __forceinline__ void set_element(int* array, long long index, int value) {
  array[index] = value;
}
__device__ __forceinline__ void set_element(signed char* array, long long index, float value) {
  array[index] = saturated(value);
}
