// CUDA's meaning on the host: what a kernel template sees instead of the CUDA compiler's built-in
// declarations. It includes no system header, because each kernel's compilation pays for it.
//
// SMEMTUNE_CHECKED: memory accesses are instrumented (-fsanitize=thread,bounds,alignment) and
// reported to the process that runs the kernel.

#pragma once

#include "kernel_abi.h"

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define SMEMTUNE_CPU 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#ifndef __restrict__
#define __restrict__ __restrict
#endif

#define threadIdx (::smemtune::thread_index())
#define blockIdx (::smemtune::block_index())
#define blockDim (::smemtune::block_dimensions())
#define gridDim (::smemtune::grid_dimensions())
#define warpSize 32

#define assert(condition) \
  ((condition) ? void(0)  \
               : ::smemtune::fail("assert", __FILE__ ":" SMEMTUNE_TEXT(__LINE__) ": " #condition))
#define SMEMTUNE_TEXT(x) SMEMTUNE_TEXT_AS_IT_IS(x)
#define SMEMTUNE_TEXT_AS_IT_IS(x) #x
#define printf(...) (::smemtune::print(__VA_ARGS__))

// Functions of this header touch memory on their own account, or report it themselves.
#define SMEMTUNE_UNCHECKED no_sanitize("thread", "undefined")
#ifdef SMEMTUNE_CHECKED
#define SMEMTUNE_INLINE inline __attribute__((SMEMTUNE_UNCHECKED))
#else
#define SMEMTUNE_INLINE inline __attribute__((always_inline))
#endif

// Functions that report an access give as its place the one that they return to.
#ifdef SMEMTUNE_CHECKED
#define SMEMTUNE_TOUCHES inline __attribute__((noinline, SMEMTUNE_UNCHECKED))
#else
#define SMEMTUNE_TOUCHES SMEMTUNE_INLINE
#endif
#define SMEMTUNE_CALLER __builtin_return_address(0)

using size_t = decltype(sizeof(0));

// ---- Vector types

#define SMEMTUNE_VECTORS(T, name, align2, align4)                             \
  struct name##1 {                                                            \
    T x;                                                                      \
  };                                                                          \
  struct alignas(align2) name##2 {                                            \
    T x, y;                                                                   \
  };                                                                          \
  struct name##3 {                                                            \
    T x, y, z;                                                                \
  };                                                                          \
  struct alignas(align4) name##4 {                                            \
    T x, y, z, w;                                                             \
  };                                                                          \
  SMEMTUNE_INLINE name##1 make_##name##1(T x) { return {x}; }                 \
  SMEMTUNE_INLINE name##2 make_##name##2(T x, T y) { return {x, y}; }         \
  SMEMTUNE_INLINE name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  SMEMTUNE_INLINE name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

SMEMTUNE_VECTORS(signed char, char, 2, 4)
SMEMTUNE_VECTORS(unsigned char, uchar, 2, 4)
SMEMTUNE_VECTORS(short, short, 4, 8)
SMEMTUNE_VECTORS(unsigned short, ushort, 4, 8)
SMEMTUNE_VECTORS(int, int, 8, 16)
SMEMTUNE_VECTORS(unsigned, uint, 8, 16)
SMEMTUNE_VECTORS(long, long, 16, 16)
SMEMTUNE_VECTORS(unsigned long, ulong, 16, 16)
SMEMTUNE_VECTORS(long long, longlong, 16, 16)
SMEMTUNE_VECTORS(unsigned long long, ulonglong, 16, 16)
SMEMTUNE_VECTORS(float, float, 8, 16)
SMEMTUNE_VECTORS(double, double, 16, 16)
#undef SMEMTUNE_VECTORS

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 from) : x(from.x), y(from.y), z(from.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

// ---- Where a thread is, and what it does together with others

namespace smemtune {

#ifdef SMEMTUNE_CHECKED
#define SMEMTUNE_WHERE inline __attribute__((pure, SMEMTUNE_UNCHECKED))
#else
#define SMEMTUNE_WHERE inline __attribute__((always_inline))
#endif

SMEMTUNE_WHERE abi::Thread& thread() {
  const auto frame = reinterpret_cast<unsigned long>(__builtin_frame_address(0));
  const auto end = (frame | (abi::kStackBytes - 1)) + 1;
  return *reinterpret_cast<abi::Thread*>(end - sizeof(abi::Thread));
}

SMEMTUNE_WHERE uint3 thread_index() {
  const abi::Thread& t = thread();
  return {t.x, t.y, t.z};
}

SMEMTUNE_WHERE uint3 block_index() {
  const unsigned* index = thread().block->index;
  return {index[0], index[1], index[2]};
}

SMEMTUNE_WHERE dim3 block_dimensions() {
  const unsigned* dimensions = thread().block->dimensions;
  return {dimensions[0], dimensions[1], dimensions[2]};
}

SMEMTUNE_WHERE dim3 grid_dimensions() {
  const unsigned* grid = thread().block->grid;
  return {grid[0], grid[1], grid[2]};
}

[[noreturn]] SMEMTUNE_INLINE void fail(const char* reason, const char* detail) {
  thread().block->services->fail(thread(), reason, detail);
  __builtin_unreachable();
}

inline int print(const char* format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  const int written = thread().block->services->print(format, arguments);
  __builtin_va_end(arguments);
  return written;
}

SMEMTUNE_INLINE int barrier(abi::Vote vote, int predicate) {
  return thread().block->services->barrier(thread(), vote, predicate);
}

SMEMTUNE_INLINE unsigned long long exchange(unsigned mask, unsigned long long value, int source) {
  return thread().block->services->exchange(thread(), mask, value, source);
}

SMEMTUNE_INLINE int lane() { return static_cast<int>(thread().linear % abi::kWarpSize); }

/// Tells of memory that is about to be touched, by the code at `place`.
SMEMTUNE_INLINE void touch([[maybe_unused]] const void* address,
                           [[maybe_unused]] unsigned long bytes, [[maybe_unused]] abi::Access kind,
                           [[maybe_unused]] const void* place) {
#ifdef SMEMTUNE_CHECKED
  if (bytes == 0) return;
  abi::Thread& t = thread();
  const auto* const byte = static_cast<const unsigned char*>(address);
  const abi::Block& block = *t.block;
  if (static_cast<unsigned long>(byte - block.shared.begin) < block.shared.bytes ||
      static_cast<unsigned long>(byte - block.buffers.begin) < block.buffers.bytes) {
    block.services->access(t, address, bytes, kind, place);
  }
#endif
}

template <typename T, typename Tag>
struct SharedVariable {
  static abi::Slot slot;
};
template <typename T, typename Tag>
abi::Slot SharedVariable<T, Tag>::slot = {
    sizeof(T), alignof(Tag) > alignof(T) ? alignof(Tag) : alignof(T), Tag::name(), 0};

/// Stands for `__shared__ T name`. `Tag` is a type of the declaring function's own, aligned as the
/// declaration demands.
template <typename T, typename Tag>
SMEMTUNE_INLINE T& shared() {
  abi::Slot& slot = SharedVariable<T, Tag>::slot;
  abi::Thread& t = thread();
  if (__builtin_expect(__atomic_load_n(&slot.offset, __ATOMIC_ACQUIRE) == 0, 0)) {
    t.block->services->reserve(t, slot);
  }
  return *reinterpret_cast<T*>(t.block->shared.begin + slot.offset);
}

/// Stands for `extern __shared__ T name`; T is an array of unknown length.
template <typename T>
SMEMTUNE_INLINE T& dynamic_shared() {
  return *reinterpret_cast<T*>(thread().block->shared.begin);
}

}  // namespace smemtune

/// Where a template holds inline PTX. Never defined: entries that can reach it are refused.
extern "C" void smemtune_inline_ptx();

SMEMTUNE_INLINE void __syncthreads() { ::smemtune::barrier(::smemtune::abi::Vote::none, 0); }
SMEMTUNE_INLINE int __syncthreads_count(int predicate) {
  return ::smemtune::barrier(::smemtune::abi::Vote::count, predicate);
}
SMEMTUNE_INLINE int __syncthreads_and(int predicate) {
  return ::smemtune::barrier(::smemtune::abi::Vote::all, predicate);
}
SMEMTUNE_INLINE int __syncthreads_or(int predicate) {
  return ::smemtune::barrier(::smemtune::abi::Vote::any, predicate);
}
SMEMTUNE_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { ::smemtune::exchange(mask, 0, -1); }

// The threads of a block run on one OS thread, so that only blocks need fences between them.
SMEMTUNE_INLINE void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
SMEMTUNE_INLINE void __threadfence() {
#ifndef SMEMTUNE_CHECKED
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#else
  __sync_synchronize();
#endif
}
SMEMTUNE_INLINE void __threadfence_system() { __threadfence(); }
[[noreturn]] SMEMTUNE_INLINE void __trap() { ::smemtune::fail("trap", "__trap() was called"); }

// ---- Warps

SMEMTUNE_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(::smemtune::exchange(mask, predicate != 0, -1));
}
SMEMTUNE_INLINE int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
SMEMTUNE_INLINE int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}
SMEMTUNE_INLINE unsigned __activemask() {
  return ::smemtune::thread().block->services->active_lanes(::smemtune::thread());
}

namespace smemtune {

template <typename T>
SMEMTUNE_INLINE T from_lane(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= sizeof(unsigned long long), "a shuffle moves at most 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, source);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace smemtune

template <typename T>
SMEMTUNE_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = ::smemtune::lane();
  return ::smemtune::from_lane(mask, value, (lane & ~(width - 1)) | (source & (width - 1)));
}
template <typename T>
SMEMTUNE_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = ::smemtune::lane();
  const int source = lane - static_cast<int>(delta);
  return ::smemtune::from_lane(mask, value, source < (lane & ~(width - 1)) ? lane : source);
}
template <typename T>
SMEMTUNE_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = ::smemtune::lane();
  const int source = lane + static_cast<int>(delta);
  return ::smemtune::from_lane(mask, value, source > (lane | (width - 1)) ? lane : source);
}
template <typename T>
SMEMTUNE_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const int lane = ::smemtune::lane();
  const int source = lane ^ lane_mask;
  return ::smemtune::from_lane(mask, value, source > (lane | (width - 1)) ? lane : source);
}

namespace smemtune {

/// Combines the values of the lanes of `mask`, in their order.
template <typename T, typename Combine>
SMEMTUNE_INLINE T reduce_lanes(unsigned mask, T value, Combine combine) {
  T result = value;
  bool first = true;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const T theirs = from_lane(mask, value, lane);
    result = first ? theirs : combine(result, theirs);
    first = false;
  }
  return result;
}

}  // namespace smemtune

#define SMEMTUNE_REDUCE(name, T, expression)                                                \
  SMEMTUNE_INLINE T name(unsigned mask, T value) {                                          \
    return ::smemtune::reduce_lanes(mask, value, [](T a, T b) -> T { return expression; }); \
  }
SMEMTUNE_REDUCE(__reduce_add_sync, unsigned, a + b)
SMEMTUNE_REDUCE(__reduce_add_sync, int, a + b)
SMEMTUNE_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
SMEMTUNE_REDUCE(__reduce_min_sync, int, a < b ? a : b)
SMEMTUNE_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
SMEMTUNE_REDUCE(__reduce_max_sync, int, a > b ? a : b)
SMEMTUNE_REDUCE(__reduce_and_sync, unsigned, a& b)
SMEMTUNE_REDUCE(__reduce_or_sync, unsigned, a | b)
SMEMTUNE_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef SMEMTUNE_REDUCE

template <typename T>
SMEMTUNE_INLINE unsigned __match_any_sync(unsigned mask, T value) {
  unsigned same = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const T theirs = ::smemtune::from_lane(mask, value, lane);
    if (__builtin_memcmp(&theirs, &value, sizeof(T)) == 0) same |= 1u << lane;
  }
  return same;
}

// ---- Atomics

#define SMEMTUNE_ATOMIC(name, expression)                                                    \
  template <typename T>                                                                      \
  SMEMTUNE_TOUCHES T name(T* address, typename ::smemtune::Same<T>::type value) {            \
    ::smemtune::touch(address, sizeof(T), ::smemtune::abi::Access::atomic, SMEMTUNE_CALLER); \
    T old;                                                                                   \
    T next;                                                                                  \
    __atomic_load(address, &old, __ATOMIC_RELAXED);                                          \
    do {                                                                                     \
      next = expression;                                                                     \
    } while (!__atomic_compare_exchange(address, &old, &next, true, __ATOMIC_RELAXED,        \
                                        __ATOMIC_RELAXED));                                  \
    return old;                                                                              \
  }

namespace smemtune {
template <typename T>
struct Same {
  using type = T;
};
}  // namespace smemtune

SMEMTUNE_ATOMIC(atomicAdd, static_cast<T>(old + value))
SMEMTUNE_ATOMIC(atomicSub, static_cast<T>(old - value))
SMEMTUNE_ATOMIC(atomicExch, value)
SMEMTUNE_ATOMIC(atomicMin, old < value ? old : value)
SMEMTUNE_ATOMIC(atomicMax, old > value ? old : value)
SMEMTUNE_ATOMIC(atomicAnd, old& value)
SMEMTUNE_ATOMIC(atomicOr, old | value)
SMEMTUNE_ATOMIC(atomicXor, old ^ value)
SMEMTUNE_ATOMIC(atomicInc, old >= value ? T(0) : static_cast<T>(old + 1))
SMEMTUNE_ATOMIC(atomicDec, old == 0 || old > value ? value : static_cast<T>(old - 1))
#undef SMEMTUNE_ATOMIC

template <typename T>
SMEMTUNE_TOUCHES T atomicCAS(T* address, typename ::smemtune::Same<T>::type expected,
                             typename ::smemtune::Same<T>::type value) {
  ::smemtune::touch(address, sizeof(T), ::smemtune::abi::Access::atomic, SMEMTUNE_CALLER);
  __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

// ---- Loads and stores with a hint for the caches, which is not taken

#define SMEMTUNE_LOAD(name)                                                                \
  template <typename T>                                                                    \
  SMEMTUNE_TOUCHES T name(const T* address) {                                              \
    ::smemtune::touch(address, sizeof(T), ::smemtune::abi::Access::read, SMEMTUNE_CALLER); \
    return *address;                                                                       \
  }
#define SMEMTUNE_STORE(name)                                                                \
  template <typename T>                                                                     \
  SMEMTUNE_TOUCHES void name(T* address, typename ::smemtune::Same<T>::type value) {        \
    ::smemtune::touch(address, sizeof(T), ::smemtune::abi::Access::write, SMEMTUNE_CALLER); \
    *address = value;                                                                       \
  }
SMEMTUNE_LOAD(__ldg)
SMEMTUNE_LOAD(__ldca)
SMEMTUNE_LOAD(__ldcg)
SMEMTUNE_LOAD(__ldcs)
SMEMTUNE_LOAD(__ldcv)
SMEMTUNE_LOAD(__ldlu)
SMEMTUNE_STORE(__stwb)
SMEMTUNE_STORE(__stcg)
SMEMTUNE_STORE(__stcs)
SMEMTUNE_STORE(__stwt)
#undef SMEMTUNE_LOAD
#undef SMEMTUNE_STORE

// ---- Textures over linear memory

using cudaTextureObject_t = unsigned long long;

/// CUDA does not define what an index beyond the texture's ends gives, or another type than its
/// texels': here both are errors.
template <typename T>
SMEMTUNE_TOUCHES T tex1Dfetch(cudaTextureObject_t object, int index) {
  const auto& texture = *reinterpret_cast<const ::smemtune::abi::Texture*>(object);
#ifdef SMEMTUNE_CHECKED
  if (sizeof(T) != texture.bytes) {
    ::smemtune::fail("texture_type", "tex1Dfetch of a type that is not as large as the texels");
  }
  if (index < 0 || static_cast<unsigned long>(index) >= texture.count) {
    ::smemtune::fail("texture_bounds", "tex1Dfetch beyond the ends of the texture");
  }
#endif
  const unsigned char* const texel = texture.texels + static_cast<unsigned long>(index) * sizeof(T);
  ::smemtune::touch(texel, sizeof(T), ::smemtune::abi::Access::read, SMEMTUNE_CALLER);
  return *reinterpret_cast<const T*>(texel);
}
template <typename T>
SMEMTUNE_TOUCHES void tex1Dfetch(T* result, cudaTextureObject_t object, int index) {
  ::smemtune::touch(result, sizeof(T), ::smemtune::abi::Access::write, SMEMTUNE_CALLER);
  *result = tex1Dfetch<T>(object, index);
}

namespace smemtune {
/// Returns the place of a coordinate among `count` texels; -1 for one that reads zeros.
SMEMTUNE_INLINE long texel_place(long place, long count, int address) {
  if (place >= 0 && place < count) return place;
  if (address == 1) return -1;
  if (address == 0) return place < 0 ? 0 : count - 1;
  const long period = address == 2 ? count : 2 * count;
  const long within = (place % period + period) % period;
  return within < count ? within : period - 1 - within;
}

template <typename T>
SMEMTUNE_TOUCHES T texel_at(const abi::Texture& texture, long x, long y, const void* caller) {
  const long column = texel_place(x, texture.width, texture.address);
  const long row = texel_place(y, texture.height, texture.address);
  if (column < 0 || row < 0) return T();
  const unsigned char* const texel =
      texture.texels + static_cast<unsigned long>(row * texture.width + column) * sizeof(T);
  touch(texel, sizeof(T), abi::Access::read, caller);
  return *reinterpret_cast<const T*>(texel);
}

/// Adds `weight` times the floats of a texel.
template <typename T>
SMEMTUNE_INLINE void add_texel(T& sum, const T& texel, float weight) {
  float* const to = reinterpret_cast<float*>(&sum);
  const float* const from = reinterpret_cast<const float*>(&texel);
  for (unsigned long i = 0; i < sizeof(T) / sizeof(float); ++i) to[i] += weight * from[i];
}
}  // namespace smemtune

template <typename T>
SMEMTUNE_TOUCHES T tex2D(cudaTextureObject_t object, float x, float y) {
  const auto& texture = *reinterpret_cast<const ::smemtune::abi::Texture*>(object);
#ifdef SMEMTUNE_CHECKED
  if (sizeof(T) != texture.bytes || texture.height == 0) {
    ::smemtune::fail("texture_type",
                     "tex2D of a type that is not as large as the texels, or of a texture without "
                     "rows");
  }
#endif
  if (texture.is_normalized) {
    x *= static_cast<float>(texture.width);
    y *= static_cast<float>(texture.height);
  }
  if (!texture.is_linear) {
    return ::smemtune::texel_at<T>(texture, static_cast<long>(__builtin_floorf(x)),
                                   static_cast<long>(__builtin_floorf(y)), SMEMTUNE_CALLER);
  }
  // The device interpolates with fractions of 8 bits.
  const auto fraction = [](float all) {
    return __builtin_floorf((all - __builtin_floorf(all)) * 256 + 0.5f) / 256;
  };
  const long left = static_cast<long>(__builtin_floorf(x - 0.5f));
  const long top = static_cast<long>(__builtin_floorf(y - 0.5f));
  const float right_part = fraction(x - 0.5f);
  const float lower_part = fraction(y - 0.5f);
  T sum = T();
  for (int i = 0; i < 4; ++i) {
    const float weight =
        (i % 2 == 0 ? 1 - right_part : right_part) * (i / 2 == 0 ? 1 - lower_part : lower_part);
    ::smemtune::add_texel(
        sum, ::smemtune::texel_at<T>(texture, left + i % 2, top + i / 2, SMEMTUNE_CALLER), weight);
  }
  return sum;
}

SMEMTUNE_INLINE unsigned long __cvta_generic_to_shared(const void* address) {
  return reinterpret_cast<unsigned long>(address);
}
SMEMTUNE_INLINE bool __isShared(const void* address) {
  const ::smemtune::abi::Range& shared = ::smemtune::thread().block->shared;
  return static_cast<unsigned long>(static_cast<const unsigned char*>(address) - shared.begin) <
         shared.bytes;
}

// ---- Arithmetic

namespace smemtune {
template <typename T>
struct DoubleOfWhole {};
template <typename T>
struct DoubleOfNumber : DoubleOfWhole<T> {};
template <>
struct DoubleOfNumber<float> {
  using type = double;
};
template <>
struct DoubleOfNumber<double> {
  using type = double;
};
#define SMEMTUNE_WHOLE(T)   \
  template <>               \
  struct DoubleOfWhole<T> { \
    using type = double;    \
  };
SMEMTUNE_WHOLE(char)
SMEMTUNE_WHOLE(signed char)
SMEMTUNE_WHOLE(unsigned char)
SMEMTUNE_WHOLE(short)
SMEMTUNE_WHOLE(unsigned short)
SMEMTUNE_WHOLE(int)
SMEMTUNE_WHOLE(unsigned)
SMEMTUNE_WHOLE(long)
SMEMTUNE_WHOLE(unsigned long)
SMEMTUNE_WHOLE(long long)
SMEMTUNE_WHOLE(unsigned long long)
#undef SMEMTUNE_WHOLE
}  // namespace smemtune

// The result for integers and for different types is a double, as in C++.
#define SMEMTUNE_MATH1(name)                                              \
  extern "C" float name##f(float) noexcept;                               \
  extern "C" double name(double) noexcept;                                \
  SMEMTUNE_INLINE float name(float x) { return __builtin_##name##f(x); }  \
  template <typename T>                                                   \
  SMEMTUNE_INLINE typename ::smemtune::DoubleOfWhole<T>::type name(T x) { \
    return __builtin_##name(static_cast<double>(x));                      \
  }
#define SMEMTUNE_MATH2(name)                                                         \
  extern "C" float name##f(float, float) noexcept;                                   \
  extern "C" double name(double, double) noexcept;                                   \
  SMEMTUNE_INLINE float name(float x, float y) { return __builtin_##name##f(x, y); } \
  template <typename T, typename U>                                                  \
  SMEMTUNE_INLINE typename ::smemtune::DoubleOfNumber<T>::type name(                 \
      T x, U y, typename ::smemtune::DoubleOfNumber<U>::type* = nullptr) {           \
    return __builtin_##name(static_cast<double>(x), static_cast<double>(y));         \
  }
SMEMTUNE_MATH1(sqrt)
SMEMTUNE_MATH1(cbrt)
SMEMTUNE_MATH1(exp)
SMEMTUNE_MATH1(exp2)
SMEMTUNE_MATH1(expm1)
SMEMTUNE_MATH1(log)
SMEMTUNE_MATH1(log2)
SMEMTUNE_MATH1(log10)
SMEMTUNE_MATH1(log1p)
SMEMTUNE_MATH1(sin)
SMEMTUNE_MATH1(cos)
SMEMTUNE_MATH1(tan)
SMEMTUNE_MATH1(asin)
SMEMTUNE_MATH1(acos)
SMEMTUNE_MATH1(atan)
SMEMTUNE_MATH1(sinh)
SMEMTUNE_MATH1(cosh)
SMEMTUNE_MATH1(tanh)
SMEMTUNE_MATH1(erf)
SMEMTUNE_MATH1(erfc)
SMEMTUNE_MATH1(floor)
SMEMTUNE_MATH1(ceil)
SMEMTUNE_MATH1(trunc)
SMEMTUNE_MATH1(round)
SMEMTUNE_MATH1(rint)
SMEMTUNE_MATH1(nearbyint)
SMEMTUNE_MATH1(fabs)
SMEMTUNE_MATH2(pow)
SMEMTUNE_MATH2(atan2)
SMEMTUNE_MATH2(hypot)
SMEMTUNE_MATH2(fmod)
SMEMTUNE_MATH2(fmin)
SMEMTUNE_MATH2(fmax)
SMEMTUNE_MATH2(fdim)
SMEMTUNE_MATH2(copysign)
#undef SMEMTUNE_MATH1
#undef SMEMTUNE_MATH2
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double fma(double, double, double) noexcept;
extern "C" float ldexpf(float, int) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" int abs(int) noexcept;
extern "C" long labs(long) noexcept;
extern "C" long long llabs(long long) noexcept;
SMEMTUNE_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SMEMTUNE_INLINE float abs(float x) { return __builtin_fabsf(x); }
SMEMTUNE_INLINE double abs(double x) { return __builtin_fabs(x); }
SMEMTUNE_INLINE long abs(long x) { return __builtin_labs(x); }
SMEMTUNE_INLINE long long abs(long long x) { return __builtin_llabs(x); }
SMEMTUNE_INLINE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
SMEMTUNE_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
SMEMTUNE_INLINE float rsqrt(float x) { return rsqrtf(x); }

#ifndef isnan  // <cmath> has its own.
template <typename T>
SMEMTUNE_INLINE bool isnan(T x) {
  return __builtin_isnan(x);
}
template <typename T>
SMEMTUNE_INLINE bool isinf(T x) {
  return __builtin_isinf(x);
}
template <typename T>
SMEMTUNE_INLINE bool isfinite(T x) {
  return __builtin_isfinite(x);
}
#endif

#define SMEMTUNE_MIN_MAX(T)                           \
  constexpr T min(T a, T b) { return b < a ? b : a; } \
  constexpr T max(T a, T b) { return a < b ? b : a; }
SMEMTUNE_MIN_MAX(int)
SMEMTUNE_MIN_MAX(unsigned)
SMEMTUNE_MIN_MAX(long)
SMEMTUNE_MIN_MAX(unsigned long)
SMEMTUNE_MIN_MAX(long long)
SMEMTUNE_MIN_MAX(unsigned long long)
#undef SMEMTUNE_MIN_MAX
constexpr unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
constexpr unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
constexpr unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
constexpr unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
constexpr long long min(int a, long long b) { return min(static_cast<long long>(a), b); }
constexpr long long min(long long a, int b) { return min(a, static_cast<long long>(b)); }
constexpr long long max(int a, long long b) { return max(static_cast<long long>(a), b); }
constexpr long long max(long long a, int b) { return max(a, static_cast<long long>(b)); }
// The one of two that is a number, as fmin() and fmax() say.
SMEMTUNE_INLINE float min(float a, float b) { return __builtin_fminf(a, b); }
SMEMTUNE_INLINE float max(float a, float b) { return __builtin_fmaxf(a, b); }
SMEMTUNE_INLINE double min(double a, double b) { return __builtin_fmin(a, b); }
SMEMTUNE_INLINE double max(double a, double b) { return __builtin_fmax(a, b); }
SMEMTUNE_INLINE double min(float a, double b) { return __builtin_fmin(a, b); }
SMEMTUNE_INLINE double min(double a, float b) { return __builtin_fmin(a, b); }
SMEMTUNE_INLINE double max(float a, double b) { return __builtin_fmax(a, b); }
SMEMTUNE_INLINE double max(double a, float b) { return __builtin_fmax(a, b); }

#define SMEMTUNE_F1(name, T, expression) \
  SMEMTUNE_INLINE T name(T x) { return expression; }
#define SMEMTUNE_F2(name, T, expression) \
  SMEMTUNE_INLINE T name(T x, T y) { return expression; }
SMEMTUNE_F1(__expf, float, __builtin_expf(x))
SMEMTUNE_F1(__exp10f, float, __builtin_powf(10.0f, x))
SMEMTUNE_F1(__logf, float, __builtin_logf(x))
SMEMTUNE_F1(__log2f, float, __builtin_log2f(x))
SMEMTUNE_F1(__log10f, float, __builtin_log10f(x))
SMEMTUNE_F1(__sinf, float, __builtin_sinf(x))
SMEMTUNE_F1(__cosf, float, __builtin_cosf(x))
SMEMTUNE_F1(__tanf, float, __builtin_tanf(x))
SMEMTUNE_F1(__frsqrt_rn, float, 1.0f / __builtin_sqrtf(x))
SMEMTUNE_F1(__saturatef, float, x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f)
SMEMTUNE_F2(__powf, float, __builtin_powf(x, y))
SMEMTUNE_F2(__fdividef, float, x / y)
#undef SMEMTUNE_F1
#undef SMEMTUNE_F2
SMEMTUNE_INLINE void sincosf(float x, float* sine, float* cosine) {
  *sine = __builtin_sinf(x);
  *cosine = __builtin_cosf(x);
}
SMEMTUNE_INLINE void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }

SMEMTUNE_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
SMEMTUNE_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
SMEMTUNE_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
SMEMTUNE_INLINE int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
SMEMTUNE_INLINE int __ffs(int x) { return __builtin_ffs(x); }
SMEMTUNE_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
SMEMTUNE_INLINE unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1u) << (31 - bit);
  return reversed;
}
SMEMTUNE_INLINE int __mul24(int a, int b) { return a * b; }
SMEMTUNE_INLINE unsigned __umul24(unsigned a, unsigned b) { return a * b; }
SMEMTUNE_INLINE int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
SMEMTUNE_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
SMEMTUNE_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(
      ((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31u)) >> 32);
}
SMEMTUNE_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >>
                               (shift & 31u));
}
SMEMTUNE_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned from = selector >> (4 * i) & 0xfu;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (from & 7u))) & 0xffu;
    if ((from & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0u;
    result |= byte << (8 * i);
  }
  return result;
}
SMEMTUNE_INLINE int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 4; ++i) {
    sum += static_cast<signed char>(a >> (8 * i)) * static_cast<signed char>(b >> (8 * i));
  }
  return sum;
}

namespace smemtune {
template <typename To, typename From>
SMEMTUNE_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}
}  // namespace smemtune

SMEMTUNE_INLINE int __float_as_int(float x) { return ::smemtune::bits_as<int>(x); }
SMEMTUNE_INLINE unsigned __float_as_uint(float x) { return ::smemtune::bits_as<unsigned>(x); }
SMEMTUNE_INLINE float __int_as_float(int x) { return ::smemtune::bits_as<float>(x); }
SMEMTUNE_INLINE float __uint_as_float(unsigned x) { return ::smemtune::bits_as<float>(x); }
SMEMTUNE_INLINE long long __double_as_longlong(double x) {
  return ::smemtune::bits_as<long long>(x);
}
SMEMTUNE_INLINE double __longlong_as_double(long long x) { return ::smemtune::bits_as<double>(x); }

#include "cuda_intrinsics.h"

extern "C" void* memcpy(void*, const void*, size_t) noexcept;
extern "C" void* memset(void*, int, size_t) noexcept;

// ---- How the launcher calls an entry, and what it asks about it

namespace smemtune {

template <unsigned long... I>
struct Indices {};
template <unsigned long N, unsigned long... I>
struct IndicesUpTo : IndicesUpTo<N - 1, N - 1, I...> {};
template <unsigned long... I>
struct IndicesUpTo<0, I...> {
  using type = Indices<I...>;
};

template <typename... Parameters, unsigned long... I>
SMEMTUNE_INLINE void call(void (*kernel)(Parameters...), void** arguments, Indices<I...>) {
  kernel(*static_cast<Parameters*>(arguments[I])...);
}

template <typename... Parameters>
SMEMTUNE_INLINE void call(void (*kernel)(Parameters...), void** arguments) {
  call(kernel, arguments, typename IndicesUpTo<sizeof...(Parameters)>::type());
}

/// Bytes of parameter `index`, or -1 behind the last one.
template <typename... Parameters>
SMEMTUNE_INLINE long parameter_bytes(void (*)(Parameters...), unsigned index) {
  const long bytes[] = {static_cast<long>(sizeof(Parameters))..., -1};
  return index < sizeof...(Parameters) ? bytes[index] : -1;
}

}  // namespace smemtune

// Not instrumented: some of these are called where no kernel runs.
#ifdef SMEMTUNE_CHECKED
#define SMEMTUNE_EXPORT extern "C" __attribute__((visibility("default"), SMEMTUNE_UNCHECKED))
#else
#define SMEMTUNE_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// ---- What instrumented code calls

#ifdef SMEMTUNE_CHECKED

#define SMEMTUNE_HOOK extern "C" __attribute__((SMEMTUNE_UNCHECKED, used))

#define SMEMTUNE_ACCESS(bytes)                                                    \
  SMEMTUNE_HOOK void __tsan_read##bytes(void* p) {                                \
    ::smemtune::touch(p, bytes, ::smemtune::abi::Access::read, SMEMTUNE_CALLER);  \
  }                                                                               \
  SMEMTUNE_HOOK void __tsan_write##bytes(void* p) {                               \
    ::smemtune::touch(p, bytes, ::smemtune::abi::Access::write, SMEMTUNE_CALLER); \
  }                                                                               \
  SMEMTUNE_HOOK void __tsan_unaligned_read##bytes(void* p) {                      \
    ::smemtune::touch(p, bytes, ::smemtune::abi::Access::read, SMEMTUNE_CALLER);  \
  }                                                                               \
  SMEMTUNE_HOOK void __tsan_unaligned_write##bytes(void* p) {                     \
    ::smemtune::touch(p, bytes, ::smemtune::abi::Access::write, SMEMTUNE_CALLER); \
  }
SMEMTUNE_ACCESS(1)
SMEMTUNE_ACCESS(2)
SMEMTUNE_ACCESS(4)
SMEMTUNE_ACCESS(8)
SMEMTUNE_ACCESS(16)
#undef SMEMTUNE_ACCESS

SMEMTUNE_HOOK void __tsan_read_range(void* p, unsigned long bytes) {
  ::smemtune::touch(p, bytes, ::smemtune::abi::Access::read, SMEMTUNE_CALLER);
}
SMEMTUNE_HOOK void __tsan_write_range(void* p, unsigned long bytes) {
  ::smemtune::touch(p, bytes, ::smemtune::abi::Access::write, SMEMTUNE_CALLER);
}
SMEMTUNE_HOOK void __tsan_vptr_update(void**, void*) {}
SMEMTUNE_HOOK void __tsan_vptr_read(void**) {}
SMEMTUNE_HOOK void __tsan_init() {}
SMEMTUNE_HOOK void __tsan_func_entry(void*) {}
SMEMTUNE_HOOK void __tsan_func_exit() {}

#ifdef __clang__
// clang copies structures by calls of these.
SMEMTUNE_HOOK __attribute__((no_builtin)) void* memcpy(void* to, const void* from,
                                                       size_t bytes) noexcept {
  ::smemtune::touch(from, bytes, ::smemtune::abi::Access::read, SMEMTUNE_CALLER);
  ::smemtune::touch(to, bytes, ::smemtune::abi::Access::write, SMEMTUNE_CALLER);
  for (size_t i = 0; i < bytes; ++i) {
    static_cast<unsigned char*>(to)[i] = static_cast<const unsigned char*>(from)[i];
  }
  return to;
}
SMEMTUNE_HOOK __attribute__((no_builtin)) void* memmove(void* to, const void* from, size_t bytes) {
  return memcpy(to, from, bytes);
}
SMEMTUNE_HOOK __attribute__((no_builtin)) void* memset(void* to, int value, size_t bytes) noexcept {
  ::smemtune::touch(to, bytes, ::smemtune::abi::Access::write, SMEMTUNE_CALLER);
  for (size_t i = 0; i < bytes; ++i) {
    static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(value);
  }
  return to;
}
#endif

// Reports of -fsanitize=bounds and =alignment: the place, and the type as the source spells it.
namespace smemtune {

struct SourcePlace {
  const char* file;
  unsigned line;
  unsigned column;
};

struct TypeName {
  unsigned short kind;
  unsigned short information;
  char name[1];
};

struct OutOfBounds {
  SourcePlace place;
  const TypeName* array;
  const TypeName* index;
};

struct TypeMismatch {
  SourcePlace place;
  const TypeName* type;
  unsigned char log_alignment;
  unsigned char kind;
};

extern "C" int snprintf(char*, size_t, const char*, ...) noexcept;

}  // namespace smemtune

SMEMTUNE_HOOK void __ubsan_handle_out_of_bounds(::smemtune::OutOfBounds* data,
                                                unsigned long index) {
  char text[512];
  ::smemtune::snprintf(text, sizeof text, "%s:%u: index %ld of %s", data->place.file,
                       data->place.line, static_cast<long>(index), data->array->name);
  ::smemtune::fail("array_bounds", text);
}

SMEMTUNE_HOOK void __ubsan_handle_type_mismatch_v1(::smemtune::TypeMismatch* data,
                                                   unsigned long address) {
  const unsigned long alignment = 1ul << data->log_alignment;
  if (address % alignment == 0) return;
  char text[512];
  ::smemtune::snprintf(
      text, sizeof text, "%s:%u: an address that is %lu bytes past a multiple of %lu is used as %s",
      data->place.file, data->place.line, address % alignment, alignment, data->type->name);
  ::smemtune::fail("misaligned", text);
}

#undef SMEMTUNE_HOOK
#endif  // SMEMTUNE_CHECKED
