// What CUDA's device code has beside the names of cuda_on_host.h, which includes this file: integer
// and SIMD intrinsics, conversions and arithmetic in each direction of rounding, further functions of
// mathematics, and atomics of other scopes. Values are those that CUDA's documentation gives.

#pragma once

// ---- Integers

#define SMEMTUNE_INTEGERS(T, least, most)                     \
  SMEMTUNE_INLINE T least(T a, T b) { return b < a ? b : a; } \
  SMEMTUNE_INLINE T most(T a, T b) { return a < b ? b : a; }
SMEMTUNE_INTEGERS(unsigned, umin, umax)
SMEMTUNE_INTEGERS(long long, llmin, llmax)
SMEMTUNE_INTEGERS(unsigned long long, ullmin, ullmax)
#undef SMEMTUNE_INTEGERS

SMEMTUNE_INLINE int __hadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}
SMEMTUNE_INLINE int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
SMEMTUNE_INLINE unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
SMEMTUNE_INLINE unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
SMEMTUNE_INLINE unsigned __usad(unsigned a, unsigned b, unsigned sum) {
  return (a < b ? b - a : a - b) + sum;
}
SMEMTUNE_INLINE unsigned __sad(int a, int b, unsigned sum) {
  const long long difference = static_cast<long long>(a) - b;
  return static_cast<unsigned>(difference < 0 ? -difference : difference) + sum;
}
SMEMTUNE_INLINE long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
SMEMTUNE_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
SMEMTUNE_INLINE unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
SMEMTUNE_INLINE unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
SMEMTUNE_INLINE unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
SMEMTUNE_INLINE unsigned long long __nv_bswap64(unsigned long long x) {
  return __builtin_bswap64(x);
}
SMEMTUNE_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
SMEMTUNE_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/// The position of the bit that is the offset-th from `base` on, upwards or (negative) downwards.
SMEMTUNE_INLINE unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return base < 32 && (mask >> base & 1u) != 0 ? base : 0xffffffffu;
  int left = offset < 0 ? -offset : offset;
  const int step = offset < 0 ? -1 : 1;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<unsigned>(at);
  }
  return 0xffffffffu;
}

namespace smemtune {

template <typename T, typename C, typename Word>
SMEMTUNE_INLINE Word dot(Word a, Word b, Word sum, int first) {
  for (int i = 0; i < static_cast<int>(4 / sizeof(T)); ++i) {
    sum += static_cast<Word>(static_cast<T>(a >> (8 * static_cast<int>(sizeof(T)) * i))) *
           static_cast<Word>(static_cast<C>(b >> (8 * (first + i))));
  }
  return sum;
}

template <typename To, typename From>
SMEMTUNE_INLINE To word_of(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

}  // namespace smemtune

SMEMTUNE_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  return ::smemtune::dot<unsigned char, unsigned char>(a, b, sum, 0);
}
SMEMTUNE_INLINE int __dp4a(char4 a, char4 b, int sum) {
  return __dp4a(::smemtune::word_of<int>(a), ::smemtune::word_of<int>(b), sum);
}
SMEMTUNE_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) {
  return __dp4a(::smemtune::word_of<unsigned>(a), ::smemtune::word_of<unsigned>(b), sum);
}
#define SMEMTUNE_DP2A(name, first)                                                        \
  SMEMTUNE_INLINE int name(int a, int b, int sum) {                                       \
    return ::smemtune::dot<short, signed char>(a, b, sum, first);                         \
  }                                                                                       \
  SMEMTUNE_INLINE unsigned name(unsigned a, unsigned b, unsigned sum) {                   \
    return ::smemtune::dot<unsigned short, unsigned char>(a, b, sum, first);              \
  }                                                                                       \
  SMEMTUNE_INLINE int name(short2 a, char4 b, int sum) {                                  \
    return name(::smemtune::word_of<int>(a), ::smemtune::word_of<int>(b), sum);           \
  }                                                                                       \
  SMEMTUNE_INLINE unsigned name(ushort2 a, uchar4 b, unsigned sum) {                      \
    return name(::smemtune::word_of<unsigned>(a), ::smemtune::word_of<unsigned>(b), sum); \
  }
SMEMTUNE_DP2A(__dp2a_lo, 0)
SMEMTUNE_DP2A(__dp2a_hi, 2)
#undef SMEMTUNE_DP2A

// ---- Two halves or four bytes at a time

namespace smemtune {

/// `of` of each element of type T of a, b and c.
template <typename T, typename Of>
SMEMTUNE_INLINE unsigned lanes(unsigned a, unsigned b, unsigned c, Of of) {
  constexpr int kBits = 8 * sizeof(T);
  unsigned all = 0;
  for (int i = 0; i < 32; i += kBits) {
    const int one =
        of(static_cast<int>(static_cast<T>(a >> i)), static_cast<int>(static_cast<T>(b >> i)),
           static_cast<int>(static_cast<T>(c >> i)));
    all |= (static_cast<unsigned>(one) & ((1u << kBits) - 1)) << i;
  }
  return all;
}

template <typename T>
SMEMTUNE_INLINE unsigned sum_of_lanes(unsigned a) {
  unsigned sum = 0;
  for (int i = 0; i < 32; i += 8 * static_cast<int>(sizeof(T))) sum += static_cast<T>(a >> i);
  return sum;
}

template <typename T>
SMEMTUNE_INLINE int saturated(int x) {
  constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
  constexpr int kBits = 8 * sizeof(T);
  constexpr int kMost = kSigned ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;
  constexpr int kLeast = kSigned ? -(1 << (kBits - 1)) : 0;
  return x < kLeast ? kLeast : x > kMost ? kMost : x;
}

}  // namespace smemtune

#define SMEMTUNE_LANES1(name, Type, expression)                                       \
  SMEMTUNE_INLINE unsigned name(unsigned x) {                                         \
    using T [[maybe_unused]] = Type;                                                  \
    return ::smemtune::lanes<T>(x, 0, 0, [](int a, int, int) { return expression; }); \
  }
#define SMEMTUNE_LANES2(name, Type, expression)                                         \
  SMEMTUNE_INLINE unsigned name(unsigned x, unsigned y) {                               \
    using T [[maybe_unused]] = Type;                                                    \
    return ::smemtune::lanes<T>(x, y, 0, [](int a, int b, int) { return expression; }); \
  }
#define SMEMTUNE_LANES3(name, Type, expression)                                           \
  SMEMTUNE_INLINE unsigned name(unsigned x, unsigned y, unsigned z) {                     \
    using T [[maybe_unused]] = Type;                                                      \
    return ::smemtune::lanes<T>(x, y, z, [](int a, int b, int c) { return expression; }); \
  }
#define SMEMTUNE_HALVES_AND_BYTES1(name, expression) \
  SMEMTUNE_LANES1(name##2, short, expression)        \
  SMEMTUNE_LANES1(name##4, signed char, expression)
#define SMEMTUNE_SIGNED(name, expression)     \
  SMEMTUNE_LANES2(name##2, short, expression) \
  SMEMTUNE_LANES2(name##4, signed char, expression)
#define SMEMTUNE_UNSIGNED(name, expression)            \
  SMEMTUNE_LANES2(name##2, unsigned short, expression) \
  SMEMTUNE_LANES2(name##4, unsigned char, expression)
SMEMTUNE_HALVES_AND_BYTES1(__vabs, a < 0 ? -a : a)
SMEMTUNE_HALVES_AND_BYTES1(__vabsss, ::smemtune::saturated<T>(a < 0 ? -a : a))
SMEMTUNE_HALVES_AND_BYTES1(__vneg, -a)
SMEMTUNE_HALVES_AND_BYTES1(__vnegss, ::smemtune::saturated<T>(-a))
SMEMTUNE_UNSIGNED(__vadd, a + b)
SMEMTUNE_SIGNED(__vaddss, ::smemtune::saturated<T>(a + b))
SMEMTUNE_UNSIGNED(__vaddus, ::smemtune::saturated<T>(a + b))
SMEMTUNE_UNSIGNED(__vsub, a - b)
SMEMTUNE_SIGNED(__vsubss, ::smemtune::saturated<T>(a - b))
SMEMTUNE_UNSIGNED(__vsubus, ::smemtune::saturated<T>(a - b))
SMEMTUNE_SIGNED(__vabsdiffs, a < b ? b - a : a - b)
SMEMTUNE_UNSIGNED(__vabsdiffu, a < b ? b - a : a - b)
// Halves are rounded away from minus infinity where the sum is not negative.
SMEMTUNE_SIGNED(__vavgs, (a + b + (a + b >= 0)) >> 1)
SMEMTUNE_UNSIGNED(__vavgu, (a + b + 1) >> 1)
SMEMTUNE_UNSIGNED(__vhaddu, (a + b) >> 1)
SMEMTUNE_SIGNED(__vmaxs, a < b ? b : a)
SMEMTUNE_UNSIGNED(__vmaxu, a < b ? b : a)
SMEMTUNE_SIGNED(__vmins, a < b ? a : b)
SMEMTUNE_UNSIGNED(__vminu, a < b ? a : b)
#define SMEMTUNE_COMPARED(name, sign, suffix, op) \
  sign(__vcmp##name##suffix, a op b ? -1 : 0) sign(__vset##name##suffix, a op b ? 1 : 0)
#define SMEMTUNE_ORDERED(name, op)                \
  SMEMTUNE_COMPARED(name, SMEMTUNE_SIGNED, s, op) \
  SMEMTUNE_COMPARED(name, SMEMTUNE_UNSIGNED, u, op)
SMEMTUNE_COMPARED(eq, SMEMTUNE_UNSIGNED, , ==)
SMEMTUNE_COMPARED(ne, SMEMTUNE_UNSIGNED, , !=)
SMEMTUNE_ORDERED(ge, >=)
SMEMTUNE_ORDERED(gt, >)
SMEMTUNE_ORDERED(le, <=)
SMEMTUNE_ORDERED(lt, <)
#undef SMEMTUNE_ORDERED
#undef SMEMTUNE_COMPARED
#define SMEMTUNE_SADS(suffix, H, B)                                    \
  SMEMTUNE_INLINE unsigned __vsad##suffix##2(unsigned a, unsigned b) { \
    return ::smemtune::sum_of_lanes<H>(__vabsdiff##suffix##2(a, b));   \
  }                                                                    \
  SMEMTUNE_INLINE unsigned __vsad##suffix##4(unsigned a, unsigned b) { \
    return ::smemtune::sum_of_lanes<B>(__vabsdiff##suffix##4(a, b));   \
  }
SMEMTUNE_SADS(s, unsigned short, unsigned char)
SMEMTUNE_SADS(u, unsigned short, unsigned char)
#undef SMEMTUNE_SADS

// ---- Dynamic programming: sums, minima and maxima in one

namespace smemtune {
template <typename T>
SMEMTUNE_INLINE constexpr T least_of(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
SMEMTUNE_INLINE constexpr T most_of(T a, T b) {
  return a < b ? b : a;
}
template <typename T>
SMEMTUNE_INLINE T wrapping_sum(T a, T b) {
  return static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
}
}  // namespace smemtune

#define SMEMTUNE_DPX(T, suffix)                                         \
  SMEMTUNE_INLINE T __viaddmax_##suffix(T a, T b, T c) {                \
    return ::smemtune::most_of(::smemtune::wrapping_sum(a, b), c);      \
  }                                                                     \
  SMEMTUNE_INLINE T __viaddmin_##suffix(T a, T b, T c) {                \
    return ::smemtune::least_of(::smemtune::wrapping_sum(a, b), c);     \
  }                                                                     \
  SMEMTUNE_INLINE T __vimax3_##suffix(T a, T b, T c) {                  \
    return ::smemtune::most_of(::smemtune::most_of(a, b), c);           \
  }                                                                     \
  SMEMTUNE_INLINE T __vimin3_##suffix(T a, T b, T c) {                  \
    return ::smemtune::least_of(::smemtune::least_of(a, b), c);         \
  }                                                                     \
  SMEMTUNE_INLINE T __vibmax_##suffix(T a, T b, bool* const is_first) { \
    *is_first = a >= b;                                                 \
    return ::smemtune::most_of(a, b);                                   \
  }                                                                     \
  SMEMTUNE_INLINE T __vibmin_##suffix(T a, T b, bool* const is_first) { \
    *is_first = a <= b;                                                 \
    return ::smemtune::least_of(a, b);                                  \
  }
SMEMTUNE_DPX(int, s32)
SMEMTUNE_DPX(unsigned, u32)
#undef SMEMTUNE_DPX
SMEMTUNE_INLINE int __viaddmax_s32_relu(int a, int b, int c) {
  return ::smemtune::most_of(__viaddmax_s32(a, b, c), 0);
}
SMEMTUNE_INLINE int __viaddmin_s32_relu(int a, int b, int c) {
  return ::smemtune::most_of(__viaddmin_s32(a, b, c), 0);
}
SMEMTUNE_INLINE int __vimax3_s32_relu(int a, int b, int c) {
  return ::smemtune::most_of(__vimax3_s32(a, b, c), 0);
}
SMEMTUNE_INLINE int __vimin3_s32_relu(int a, int b, int c) {
  return ::smemtune::most_of(__vimin3_s32(a, b, c), 0);
}
SMEMTUNE_INLINE int __vimax_s32_relu(int a, int b) { return __vimax3_s32(a, b, 0); }
SMEMTUNE_INLINE int __vimin_s32_relu(int a, int b) {
  return ::smemtune::most_of(::smemtune::least_of(a, b), 0);
}
#define SMEMTUNE_DPX2(T, suffix)                                                                \
  SMEMTUNE_LANES3(__viaddmax_##suffix, T, ::smemtune::most_of<int>(static_cast<T>(a + b), c))   \
  SMEMTUNE_LANES3(__viaddmin_##suffix, T, ::smemtune::least_of<int>(static_cast<T>(a + b), c))  \
  SMEMTUNE_LANES3(__vimax3_##suffix, T, ::smemtune::most_of(::smemtune::most_of(a, b), c))      \
  SMEMTUNE_LANES3(__vimin3_##suffix, T, ::smemtune::least_of(::smemtune::least_of(a, b), c))    \
  SMEMTUNE_INLINE unsigned __vibmax_##suffix(unsigned a, unsigned b, bool* const high_is_first, \
                                             bool* const low_is_first) {                        \
    *high_is_first = static_cast<T>(a >> 16) >= static_cast<T>(b >> 16);                        \
    *low_is_first = static_cast<T>(a) >= static_cast<T>(b);                                     \
    return __vimax3_##suffix(a, b, b);                                                          \
  }                                                                                             \
  SMEMTUNE_INLINE unsigned __vibmin_##suffix(unsigned a, unsigned b, bool* const high_is_first, \
                                             bool* const low_is_first) {                        \
    *high_is_first = static_cast<T>(a >> 16) <= static_cast<T>(b >> 16);                        \
    *low_is_first = static_cast<T>(a) <= static_cast<T>(b);                                     \
    return __vimin3_##suffix(a, b, b);                                                          \
  }
SMEMTUNE_DPX2(short, s16x2)
SMEMTUNE_DPX2(unsigned short, u16x2)
#undef SMEMTUNE_DPX2
SMEMTUNE_INLINE unsigned __viaddmax_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return __vmaxs2(__viaddmax_s16x2(a, b, c), 0);
}
SMEMTUNE_INLINE unsigned __viaddmin_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return __vmaxs2(__viaddmin_s16x2(a, b, c), 0);
}
SMEMTUNE_INLINE unsigned __vimax3_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return __vmaxs2(__vimax3_s16x2(a, b, c), 0);
}
SMEMTUNE_INLINE unsigned __vimin3_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return __vmaxs2(__vimin3_s16x2(a, b, c), 0);
}
SMEMTUNE_INLINE unsigned __vimax_s16x2_relu(unsigned a, unsigned b) {
  return __vmaxs2(__vmaxs2(a, b), 0);
}
SMEMTUNE_INLINE unsigned __vimin_s16x2_relu(unsigned a, unsigned b) {
  return __vmaxs2(__vmins2(a, b), 0);
}
#undef SMEMTUNE_LANES1
#undef SMEMTUNE_LANES2
#undef SMEMTUNE_LANES3
#undef SMEMTUNE_HALVES_AND_BYTES1
#undef SMEMTUNE_SIGNED
#undef SMEMTUNE_UNSIGNED

// ---- Rounding: rn to nearest even, rz to zero, rd down, ru up

namespace smemtune {

enum class Rounding { nearest, zero, down, up };

SMEMTUNE_INLINE float next_to(float x, float to) { return __builtin_nextafterf(x, to); }
SMEMTUNE_INLINE double next_to(double x, double to) { return __builtin_nextafter(x, to); }

/// Rounds in that direction a number that was rounded to the nearest, which left over something of
/// the sign of `rest`.
template <Rounding direction, typename T>
SMEMTUNE_INLINE T rounded(T nearest, T rest) {
  const T infinity = static_cast<T>(__builtin_inf());
  if (direction == Rounding::nearest) return nearest;
  const bool down = direction == Rounding::down || (direction == Rounding::zero && nearest > 0);
  if (nearest == infinity || nearest == -infinity) {
    // Finite operands overflowed if `rest` is a number; with infinite ones it is none.
    return rest != rest || (nearest > 0) != down ? nearest : next_to(nearest, T(0));
  }
  if (down && rest < 0) return next_to(nearest, -infinity);
  if (!down && rest > 0) return next_to(nearest, infinity);
  return nearest;
}

/// Keeps -ffast-math and the contraction of products and sums from changing it.
template <typename T>
SMEMTUNE_INLINE T as_computed(T x) {
  volatile T kept = x;
  return kept;
}

template <typename T>
SMEMTUNE_INLINE bool is_finite(T x) {
  return x - x == 0;
}

SMEMTUNE_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SMEMTUNE_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
SMEMTUNE_INLINE float root(float x) { return __builtin_sqrtf(x); }
SMEMTUNE_INLINE double root(double x) { return __builtin_sqrt(x); }

template <typename T>
SMEMTUNE_INLINE T no_number() {
  return static_cast<T>(__builtin_nan(""));
}

/// Returns what the sum of two numbers, rounded to the nearest, leaves over.
template <typename T>
SMEMTUNE_INLINE T rest_of_sum(T a, T b, T sum) {
  const T second = as_computed(sum - a);
  return as_computed(a - as_computed(sum - second)) + as_computed(b - second);
}

template <Rounding direction, typename T>
SMEMTUNE_INLINE T add(T a, T b) {
  if (direction == Rounding::nearest) return a + b;
  const T sum = as_computed(a + b);
  if (!is_finite(a) || !is_finite(b)) return sum;
  if (!is_finite(sum)) return rounded<direction>(sum, T(0));
  if (sum == 0 && direction == Rounding::down &&
      (a != 0 || __builtin_signbit(a) != __builtin_signbit(b))) {
    return -T(0);
  }
  return rounded<direction>(sum, rest_of_sum(a, b, sum));
}
template <Rounding direction, typename T>
SMEMTUNE_INLINE T multiply(T a, T b) {
  if (direction == Rounding::nearest) return a * b;
  const T product = as_computed(a * b);
  if (!is_finite(a) || !is_finite(b)) return product;
  return rounded<direction>(product, is_finite(product) ? fused(a, b, -product) : T(0));
}
template <Rounding direction, typename T>
SMEMTUNE_INLINE T divide(T a, T b) {
  if (direction == Rounding::nearest) return a / b;
  const T quotient = as_computed(a / b);
  if (b == 0 || !is_finite(a) || !is_finite(b)) return quotient;
  if (!is_finite(quotient)) return rounded<direction>(quotient, T(0));
  const T rest = fused(-quotient, b, a);
  return rounded<direction>(quotient, b < 0 ? -rest : rest);
}
template <Rounding direction, typename T>
SMEMTUNE_INLINE T square_root(T x) {
  if (direction == Rounding::nearest) return root(x);
  const T found = as_computed(root(x));
  if (!is_finite(found)) return found;
  return rounded<direction>(found, fused(-found, found, x));
}
template <Rounding direction, typename T>
SMEMTUNE_INLINE T multiply_add(T a, T b, T c) {
  if (direction == Rounding::nearest) return fused(a, b, c);
  const T result = as_computed(fused(a, b, c));
  if (!is_finite(a) || !is_finite(b) || !is_finite(c)) {
    return result;
  }
  if (!is_finite(result)) return rounded<direction>(result, T(0));
  const T product = as_computed(a * b);
  const T product_rest = fused(a, b, -product);
  const T sum = as_computed(product + c);
  const T rest = as_computed(as_computed(sum - result) + rest_of_sum(product, c, sum));
  return rounded<direction>(result, as_computed(rest + product_rest));
}

/// A whole number of another type: saturated; what is no number is 0, or where 64 bits take part on
/// either side, the smallest negative number (as bits).
template <typename To, typename From>
SMEMTUNE_INLINE To whole(From x) {
  constexpr bool kSigned = static_cast<To>(-1) < static_cast<To>(0);
  constexpr int kBits = 8 * sizeof(To);
  constexpr To kHighest = static_cast<To>(static_cast<To>(1) << (kBits - 1));
  if (x != x) return sizeof(To) == 8 || sizeof(From) == 8 ? kHighest : To(0);
  const From limit = static_cast<From>(2) * static_cast<From>(1ull << (kBits - (kSigned ? 2 : 1)));
  if (x >= limit) return kSigned ? static_cast<To>(~kHighest) : static_cast<To>(-1);
  if (!kSigned) return x > 0 ? static_cast<To>(x) : To(0);
  return x < -limit ? kHighest : static_cast<To>(x);
}

/// A whole number as a floating one.
template <Rounding direction, typename To, typename From>
SMEMTUNE_INLINE To floating(From x) {
  const To nearest = static_cast<To>(x);
  const __int128 rest = static_cast<__int128>(x) - static_cast<__int128>(nearest);
  return rounded<direction>(nearest, rest < 0 ? To(-1) : rest > 0 ? To(1) : To(0));
}

template <Rounding direction>
SMEMTUNE_INLINE float narrowed(double x) {
  const float nearest = static_cast<float>(x);
  if (!is_finite(nearest)) {
    return rounded<direction>(nearest, is_finite(x) ? 0.0f : no_number<float>());
  }
  const double rest = x - static_cast<double>(nearest);
  return rounded<direction>(nearest, rest < 0 ? -1.0f : rest > 0 ? 1.0f : 0.0f);
}

}  // namespace smemtune

#define SMEMTUNE_ROUNDED(suffix, direction, to_whole, to_whole_f)              \
  SMEMTUNE_INLINE float __fadd_##suffix(float a, float b) {                    \
    return ::smemtune::add<::smemtune::Rounding::direction>(a, b);             \
  }                                                                            \
  SMEMTUNE_INLINE float __fsub_##suffix(float a, float b) {                    \
    return ::smemtune::add<::smemtune::Rounding::direction>(a, -b);            \
  }                                                                            \
  SMEMTUNE_INLINE float __fmul_##suffix(float a, float b) {                    \
    return ::smemtune::multiply<::smemtune::Rounding::direction>(a, b);        \
  }                                                                            \
  SMEMTUNE_INLINE float __fdiv_##suffix(float a, float b) {                    \
    return ::smemtune::divide<::smemtune::Rounding::direction>(a, b);          \
  }                                                                            \
  SMEMTUNE_INLINE float __frcp_##suffix(float x) {                             \
    return ::smemtune::divide<::smemtune::Rounding::direction>(1.0f, x);       \
  }                                                                            \
  SMEMTUNE_INLINE float __fsqrt_##suffix(float x) {                            \
    return ::smemtune::square_root<::smemtune::Rounding::direction>(x);        \
  }                                                                            \
  SMEMTUNE_INLINE float __fmaf_##suffix(float a, float b, float c) {           \
    return ::smemtune::multiply_add<::smemtune::Rounding::direction>(a, b, c); \
  }                                                                            \
  SMEMTUNE_INLINE float __fmaf_ieee_##suffix(float a, float b, float c) {      \
    return __fmaf_##suffix(a, b, c);                                           \
  }                                                                            \
  SMEMTUNE_INLINE double __dadd_##suffix(double a, double b) {                 \
    return ::smemtune::add<::smemtune::Rounding::direction>(a, b);             \
  }                                                                            \
  SMEMTUNE_INLINE double __dsub_##suffix(double a, double b) {                 \
    return ::smemtune::add<::smemtune::Rounding::direction>(a, -b);            \
  }                                                                            \
  SMEMTUNE_INLINE double __dmul_##suffix(double a, double b) {                 \
    return ::smemtune::multiply<::smemtune::Rounding::direction>(a, b);        \
  }                                                                            \
  SMEMTUNE_INLINE double __ddiv_##suffix(double a, double b) {                 \
    return ::smemtune::divide<::smemtune::Rounding::direction>(a, b);          \
  }                                                                            \
  SMEMTUNE_INLINE double __drcp_##suffix(double x) {                           \
    return ::smemtune::divide<::smemtune::Rounding::direction>(1.0, x);        \
  }                                                                            \
  SMEMTUNE_INLINE double __dsqrt_##suffix(double x) {                          \
    return ::smemtune::square_root<::smemtune::Rounding::direction>(x);        \
  }                                                                            \
  SMEMTUNE_INLINE double __fma_##suffix(double a, double b, double c) {        \
    return ::smemtune::multiply_add<::smemtune::Rounding::direction>(a, b, c); \
  }                                                                            \
  SMEMTUNE_INLINE float __double2float_##suffix(double x) {                    \
    return ::smemtune::narrowed<::smemtune::Rounding::direction>(x);           \
  }                                                                            \
  SMEMTUNE_FROM_WHOLE(int, int, suffix, direction)                             \
  SMEMTUNE_FROM_WHOLE(uint, unsigned, suffix, direction)                       \
  SMEMTUNE_FROM_WHOLE(ll, long long, suffix, direction)                        \
  SMEMTUNE_FROM_WHOLE(ull, unsigned long long, suffix, direction)              \
  SMEMTUNE_TO_WHOLE(int, int, suffix, to_whole, to_whole_f)                    \
  SMEMTUNE_TO_WHOLE(uint, unsigned, suffix, to_whole, to_whole_f)              \
  SMEMTUNE_TO_WHOLE(ll, long long, suffix, to_whole, to_whole_f)               \
  SMEMTUNE_TO_WHOLE(ull, unsigned long long, suffix, to_whole, to_whole_f)
#define SMEMTUNE_FROM_WHOLE(name, T, suffix, direction)                      \
  SMEMTUNE_INLINE float __##name##2float_##suffix(T x) {                     \
    return ::smemtune::floating<::smemtune::Rounding::direction, float>(x);  \
  }                                                                          \
  SMEMTUNE_INLINE double __##name##2double_##suffix(T x) {                   \
    return ::smemtune::floating<::smemtune::Rounding::direction, double>(x); \
  }
#define SMEMTUNE_TO_WHOLE(name, T, suffix, to_whole, to_whole_f) \
  SMEMTUNE_INLINE T __float2##name##_##suffix(float x) {         \
    return ::smemtune::whole<T>(to_whole_f(x));                  \
  }                                                              \
  SMEMTUNE_INLINE T __double2##name##_##suffix(double x) {       \
    return ::smemtune::whole<T>(to_whole(x));                    \
  }
SMEMTUNE_ROUNDED(rn, nearest, __builtin_rint, __builtin_rintf)
SMEMTUNE_ROUNDED(rz, zero, __builtin_trunc, __builtin_truncf)
SMEMTUNE_ROUNDED(rd, down, __builtin_floor, __builtin_floorf)
SMEMTUNE_ROUNDED(ru, up, __builtin_ceil, __builtin_ceilf)
#undef SMEMTUNE_ROUNDED
#undef SMEMTUNE_FROM_WHOLE
#undef SMEMTUNE_TO_WHOLE

SMEMTUNE_INLINE int __double2hiint(double x) {
  return static_cast<int>(::smemtune::word_of<long long>(x) >> 32);
}
SMEMTUNE_INLINE int __double2loint(double x) {
  return static_cast<int>(::smemtune::word_of<long long>(x));
}
SMEMTUNE_INLINE double __hiloint2double(int high, int low) {
  return ::smemtune::word_of<double>(static_cast<unsigned long long>(static_cast<unsigned>(high))
                                         << 32 |
                                     static_cast<unsigned>(low));
}

// ---- Further functions of mathematics

#define SMEMTUNE_LIBRARY1(name)             \
  extern "C" float name##f(float) noexcept; \
  extern "C" double name(double) noexcept;
#define SMEMTUNE_OVERLOADED1(name) \
  SMEMTUNE_LIBRARY1(name)          \
  SMEMTUNE_INLINE float name(float x) { return __builtin_##name##f(x); }
SMEMTUNE_OVERLOADED1(acosh)
SMEMTUNE_OVERLOADED1(asinh)
SMEMTUNE_OVERLOADED1(atanh)
SMEMTUNE_OVERLOADED1(lgamma)
SMEMTUNE_OVERLOADED1(tgamma)
SMEMTUNE_OVERLOADED1(logb)
SMEMTUNE_LIBRARY1(j0)
SMEMTUNE_LIBRARY1(j1)
SMEMTUNE_LIBRARY1(y0)
SMEMTUNE_LIBRARY1(y1)
#undef SMEMTUNE_OVERLOADED1
#undef SMEMTUNE_LIBRARY1
extern "C" float jnf(int, float) noexcept;
extern "C" double jn(int, double) noexcept;
extern "C" float ynf(int, float) noexcept;
extern "C" double yn(int, double) noexcept;
extern "C" float nextafterf(float, float) noexcept;
extern "C" double nextafter(double, double) noexcept;
extern "C" float remainderf(float, float) noexcept;
extern "C" double remainder(double, double) noexcept;
extern "C" float remquof(float, float, int*) noexcept;
extern "C" double remquo(double, double, int*) noexcept;
extern "C" float frexpf(float, int*) noexcept;
extern "C" double frexp(double, int*) noexcept;
extern "C" float modff(float, float*) noexcept;
extern "C" double modf(double, double*) noexcept;
extern "C" float scalbnf(float, int) noexcept;
extern "C" double scalbn(double, int) noexcept;
extern "C" float scalblnf(float, long) noexcept;
extern "C" double scalbln(double, long) noexcept;
extern "C" int ilogbf(float) noexcept;
extern "C" int ilogb(double) noexcept;
extern "C" long lrintf(float) noexcept;
extern "C" long lrint(double) noexcept;
extern "C" long long llrintf(float) noexcept;
extern "C" long long llrint(double) noexcept;
extern "C" long lroundf(float) noexcept;
extern "C" long lround(double) noexcept;
extern "C" long long llroundf(float) noexcept;
extern "C" long long llround(double) noexcept;
extern "C" float nanf(const char*) noexcept;
extern "C" double nan(const char*) noexcept;
SMEMTUNE_INLINE float nextafter(float x, float y) { return __builtin_nextafterf(x, y); }
SMEMTUNE_INLINE float remainder(float x, float y) { return __builtin_remainderf(x, y); }
SMEMTUNE_INLINE float remquo(float x, float y, int* q) { return __builtin_remquof(x, y, q); }
SMEMTUNE_INLINE float frexp(float x, int* e) { return __builtin_frexpf(x, e); }
SMEMTUNE_INLINE float modf(float x, float* whole) { return __builtin_modff(x, whole); }
SMEMTUNE_INLINE float ldexp(float x, int e) { return __builtin_ldexpf(x, e); }
SMEMTUNE_INLINE float scalbn(float x, int e) { return __builtin_scalbnf(x, e); }
SMEMTUNE_INLINE float scalbln(float x, long e) { return __builtin_scalblnf(x, e); }
SMEMTUNE_INLINE int ilogb(float x) { return __builtin_ilogbf(x); }
SMEMTUNE_INLINE long lrint(float x) { return __builtin_lrintf(x); }
SMEMTUNE_INLINE long long llrint(float x) { return __builtin_llrintf(x); }
SMEMTUNE_INLINE long lround(float x) { return __builtin_lroundf(x); }
SMEMTUNE_INLINE long long llround(float x) { return __builtin_llroundf(x); }
#ifndef signbit
template <typename T>
SMEMTUNE_INLINE bool signbit(T x) {
  return __builtin_signbit(x);
}
#endif

namespace smemtune {

constexpr double kPi = 3.14159265358979323846;

/// The sine and cosine of pi times x, exact at multiples of a half.
SMEMTUNE_INLINE void sine_and_cosine_of_pi(double x, double& sine, double& cosine) {
  const double turns = 2 * __builtin_rint(x / 2);
  const double part = x - turns;  // From -1 to 1.
  const double quarter = __builtin_rint(2 * part);
  const double s = __builtin_sin(kPi * (part - quarter / 2));
  const double c = __builtin_cos(kPi * (part - quarter / 2));
  const int q = static_cast<int>(quarter) & 3;
  sine = q == 0 ? s : q == 1 ? c : q == 2 ? -s : -c;
  cosine = q == 0 ? c : q == 1 ? -s : q == 2 ? -c : s;
  if (!(x - x == 0)) sine = cosine = no_number<double>();
  if (sine == 0) sine = __builtin_copysign(0.0, x);
  if (cosine == 0) cosine = 0;
}
SMEMTUNE_INLINE double sine_of_pi(double x) {
  double sine = 0, cosine = 0;
  sine_and_cosine_of_pi(x, sine, cosine);
  return sine;
}
SMEMTUNE_INLINE double cosine_of_pi(double x) {
  double sine = 0, cosine = 0;
  sine_and_cosine_of_pi(x, sine, cosine);
  return cosine;
}

/// Where erfc is p: by Newton's steps of third order, from what is near it.
inline double inverse_of_erfc(double p) {
  if (!(p >= 0 && p <= 2)) return no_number<double>();
  if (p == 0 || p == 2) return p == 0 ? __builtin_inf() : -__builtin_inf();
  const double q = p < 1 ? p : 2 - p;
  const double t = __builtin_sqrt(-2 * __builtin_log(q / 2));
  double x = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
  for (int i = 0; i < 4; ++i) {
    const double error = __builtin_erfc(x) - q;
    const double slope = 1.12837916709551257 * __builtin_exp(-x * x);
    if (slope == 0) break;
    x += error / (slope - x * error);
  }
  return p < 1 ? x : -x;
}
inline double inverse_of_erf(double y) {
  if (!(y >= -1 && y <= 1)) return no_number<double>();
  const double size = __builtin_fabs(y);
  if (size > 0.5) return __builtin_copysign(inverse_of_erfc(1 - size), y);
  double x = y * 0.886226925452758;
  for (int i = 0; i < 5; ++i) {
    const double error = __builtin_erf(x) - y;
    const double slope = 1.12837916709551257 * __builtin_exp(-x * x);
    x -= error / (slope + x * error);
  }
  return x;
}
/// exp(x * x) * erfc(x)
inline double scaled_erfc(double x) {
  if (x < 25) return __builtin_exp(x * x) * __builtin_erfc(x);
  const double y = 1 / (x * x);  // An asymptotic series, whose terms fall quickly from here on.
  return 0.56418958354775628 / x * (1 - y * (0.5 - y * (0.75 - y * (1.875 - y * 6.5625))));
}
/// Modified Bessel function of the first kind, by its power series.
inline double bessel_i(int order, double x) {
  const double quarter = x * x / 4;
  double term = order == 0 ? 1 : x / 2;
  double sum = term;
  for (int k = 1; k < 2000; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + order));
    sum += term;
    if (__builtin_fabs(term) < 1e-18 * __builtin_fabs(sum)) break;
  }
  return sum;
}
SMEMTUNE_INLINE double normal_distribution(double x) {
  return 0.5 * __builtin_erfc(-0.70710678118654752440 * x);
}
SMEMTUNE_INLINE double inverse_of_normal_distribution(double p) {
  return -1.41421356237309504880 * inverse_of_erfc(2 * p);
}
SMEMTUNE_INLINE double length(double a, double b, double c, double d) {
  return __builtin_hypot(__builtin_hypot(a, b), __builtin_hypot(c, d));
}
template <typename T>
SMEMTUNE_INLINE double length_of(int count, const T* elements) {
  double length = 0;
  for (int i = 0; i < count; ++i)
    length = __builtin_hypot(length, static_cast<double>(elements[i]));
  return length;
}

}  // namespace smemtune

#define SMEMTUNE_BOTH1(name, expression)                       \
  SMEMTUNE_INLINE double name(double x) { return expression; } \
  SMEMTUNE_INLINE float name##f(float as_float) {              \
    const double x = static_cast<double>(as_float);            \
    return static_cast<float>(expression);                     \
  }                                                            \
  SMEMTUNE_INLINE float name(float x) { return name##f(x); }
SMEMTUNE_BOTH1(sinpi, ::smemtune::sine_of_pi(x))
SMEMTUNE_BOTH1(cospi, ::smemtune::cosine_of_pi(x))
SMEMTUNE_BOTH1(exp10, __builtin_pow(10.0, x))
SMEMTUNE_BOTH1(rcbrt, 1 / __builtin_cbrt(x))
SMEMTUNE_BOTH1(erfinv, ::smemtune::inverse_of_erf(x))
SMEMTUNE_BOTH1(erfcinv, ::smemtune::inverse_of_erfc(x))
SMEMTUNE_BOTH1(erfcx, ::smemtune::scaled_erfc(x))
SMEMTUNE_BOTH1(normcdf, ::smemtune::normal_distribution(x))
SMEMTUNE_BOTH1(normcdfinv, ::smemtune::inverse_of_normal_distribution(x))
SMEMTUNE_BOTH1(cyl_bessel_i0, ::smemtune::bessel_i(0, x))
SMEMTUNE_BOTH1(cyl_bessel_i1, ::smemtune::bessel_i(1, x))
#undef SMEMTUNE_BOTH1
#define SMEMTUNE_LENGTHS(T, suffix)                                                             \
  SMEMTUNE_INLINE T rhypot##suffix(T a, T b) { return T(1 / __builtin_hypot(a, b)); }           \
  SMEMTUNE_INLINE T norm3d##suffix(T a, T b, T c) { return T(::smemtune::length(a, b, c, 0)); } \
  SMEMTUNE_INLINE T rnorm3d##suffix(T a, T b, T c) {                                            \
    return T(1 / ::smemtune::length(a, b, c, 0));                                               \
  }                                                                                             \
  SMEMTUNE_INLINE T norm4d##suffix(T a, T b, T c, T d) {                                        \
    return T(::smemtune::length(a, b, c, d));                                                   \
  }                                                                                             \
  SMEMTUNE_INLINE T rnorm4d##suffix(T a, T b, T c, T d) {                                       \
    return T(1 / ::smemtune::length(a, b, c, d));                                               \
  }                                                                                             \
  SMEMTUNE_TOUCHES T norm##suffix(int count, const T* elements) {                               \
    ::smemtune::touch(elements, sizeof(T) * static_cast<unsigned long>(count),                  \
                      ::smemtune::abi::Access::read, SMEMTUNE_CALLER);                          \
    return T(::smemtune::length_of(count, elements));                                           \
  }                                                                                             \
  SMEMTUNE_TOUCHES T rnorm##suffix(int count, const T* elements) {                              \
    ::smemtune::touch(elements, sizeof(T) * static_cast<unsigned long>(count),                  \
                      ::smemtune::abi::Access::read, SMEMTUNE_CALLER);                          \
    return T(1 / ::smemtune::length_of(count, elements));                                       \
  }                                                                                             \
  SMEMTUNE_INLINE void sincospi##suffix(T x, T* sine, T* cosine) {                              \
    double s = 0, c = 0;                                                                        \
    ::smemtune::sine_and_cosine_of_pi(static_cast<double>(x), s, c);                            \
    *sine = static_cast<T>(s);                                                                  \
    *cosine = static_cast<T>(c);                                                                \
  }
SMEMTUNE_LENGTHS(double, )
SMEMTUNE_LENGTHS(float, f)
#undef SMEMTUNE_LENGTHS
SMEMTUNE_INLINE void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
SMEMTUNE_INLINE void sincos(double x, double* sine, double* cosine) {
  *sine = __builtin_sin(x);
  *cosine = __builtin_cos(x);
}
SMEMTUNE_INLINE void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
SMEMTUNE_INLINE float __tanhf(float x) { return __builtin_tanhf(x); }
SMEMTUNE_INLINE float fdividef(float x, float y) { return x / y; }
SMEMTUNE_INLINE float fdivide(float x, float y) { return x / y; }
SMEMTUNE_INLINE double fdivide(double x, double y) { return x / y; }

// ---- Atomics of a block's and the system's scope, and where memory lies

#define SMEMTUNE_SCOPED(name)                                 \
  template <typename T, typename... More>                     \
  SMEMTUNE_INLINE T name##_block(T* address, More... more) {  \
    return name(address, more...);                            \
  }                                                           \
  template <typename T, typename... More>                     \
  SMEMTUNE_INLINE T name##_system(T* address, More... more) { \
    return name(address, more...);                            \
  }
SMEMTUNE_SCOPED(atomicAdd)
SMEMTUNE_SCOPED(atomicSub)
SMEMTUNE_SCOPED(atomicExch)
SMEMTUNE_SCOPED(atomicMin)
SMEMTUNE_SCOPED(atomicMax)
SMEMTUNE_SCOPED(atomicInc)
SMEMTUNE_SCOPED(atomicDec)
SMEMTUNE_SCOPED(atomicAnd)
SMEMTUNE_SCOPED(atomicOr)
SMEMTUNE_SCOPED(atomicXor)
SMEMTUNE_SCOPED(atomicCAS)
#undef SMEMTUNE_SCOPED

template <typename T>
SMEMTUNE_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all_equal) {
  *all_equal = __match_any_sync(mask, value) == mask;
  return *all_equal != 0 ? mask : 0;
}

/// Local memory is a thread's own stack; there is no constant memory of its own.
SMEMTUNE_INLINE unsigned __isLocal(const void* address) {
  const auto end = reinterpret_cast<unsigned long>(&::smemtune::thread());
  return end - reinterpret_cast<unsigned long>(address) <= ::smemtune::abi::kStackBytes;
}
SMEMTUNE_INLINE unsigned __isConstant(const void*) { return 0; }
SMEMTUNE_INLINE unsigned __isGridConstant(const void*) { return 0; }
SMEMTUNE_INLINE unsigned __isGlobal(const void* address) {
  return !__isShared(address) && __isLocal(address) == 0;
}
SMEMTUNE_INLINE unsigned long __cvta_generic_to_global(const void* address) {
  return reinterpret_cast<unsigned long>(address);
}
SMEMTUNE_INLINE void* __cvta_shared_to_generic(unsigned long address) {
  return reinterpret_cast<void*>(address);
}
SMEMTUNE_INLINE void* __cvta_global_to_generic(unsigned long address) {
  return reinterpret_cast<void*>(address);
}

// ---- Time, which passes with every call as it does on a GPU

namespace smemtune {
struct TimeSpec {
  long seconds;
  long nanoseconds;
};
extern "C" int clock_gettime(int, TimeSpec*) noexcept;
SMEMTUNE_INLINE long long nanoseconds_now() {
  constexpr int kMonotonic = 1;
  TimeSpec now = {0, 0};
  clock_gettime(kMonotonic, &now);
  return now.seconds * 1000000000ll + now.nanoseconds;
}
}  // namespace smemtune
SMEMTUNE_INLINE long long clock64() { return ::smemtune::nanoseconds_now(); }
SMEMTUNE_INLINE int clock() { return static_cast<int>(::smemtune::nanoseconds_now()); }
SMEMTUNE_INLINE unsigned long long __globaltimer() {
  return static_cast<unsigned long long>(::smemtune::nanoseconds_now());
}
SMEMTUNE_INLINE void __nanosleep(unsigned) {}
SMEMTUNE_INLINE void __prof_trigger(int) {}
[[noreturn]] SMEMTUNE_INLINE void __brkpt() { ::smemtune::fail("trap", "__brkpt() was called"); }
