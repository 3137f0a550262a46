// The kernels that fill, draw and compare buffers, and those that hold and time a stream. They have
// no includes, so that they compile in milliseconds and without a toolkit's headers.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct Kind {
  u64 first;
  u64 count;
};
struct Comparison {
  Kind unwritten, not_finite, mismatch;
  u64 max_absolute_bits, max_relative_bits;
};
struct ByteDifference {
  i64 first;
  u64 count;
};
struct ByteCheck {
  const u8* data;
  const u8* same_as;
  i64 bytes, bytes_after;
  u32 salt;
};
struct Refill {
  u8* to;
  const u8* from;
  i64 bytes, bytes_after, offset;
  double low, high;
  u32 noise, salt;
  int element_bytes, poison;
};
// smemtune::ElementRule and its kinds.
enum RuleKind {
  rule_bits,
  rule_number,
  rule_normal,
  rule_count,
  rule_spread_number,
  rule_spread_integer
};
struct Rule {
  int kind;
  u64 stream;
  double first, range, center, lengths[2];
  u64 middle, down, up;
};
struct __align__(16) ClockStamp {
  u64 cycles;
  u64 nanoseconds;
};

// smemtune::ScalarType's enumerators.
enum Type {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float8_e4m3,
  float16,
  bfloat16,
  float32,
  float64
};

__device__ int size_of(Type type) {
  if (type <= uint8 || type == float8_e4m3) return 1;
  if (type <= uint16 || type == float16 || type == bfloat16) return 2;
  return type == int64 || type == uint64 || type == float64 ? 8 : 4;
}

__device__ u64 bits_at(const u8* elements, i64 i, int size) {
  if (size == 1) return elements[i];
  if (size == 2) return reinterpret_cast<const unsigned short*>(elements)[i];
  if (size == 4) return reinterpret_cast<const u32*>(elements)[i];
  return reinterpret_cast<const u64*>(elements)[i];
}

__device__ double from_bits(u64 bits) { return __longlong_as_double(static_cast<i64>(bits)); }
__device__ u64 to_bits(double value) { return static_cast<u64>(__double_as_longlong(value)); }

// smemtune::random_bits.
__device__ u64 random_bits(u64 seed, u64 index) {
  u64 z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// The bits at element i of what is kept under a mask.
__device__ u64 unmasked(u64 bits, i64 i, int size, u64 mask) {
  const u64 word = random_bits(mask, static_cast<u64>(i) * size / 8);
  const u64 stream = word >> (static_cast<u64>(i) * size % 8 * 8);
  return bits ^ (size == 8 ? stream : stream & ((1ull << 8 * size) - 1));
}

__device__ double unit_random(u64 bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// The rule's functions are as on the host, operation by operation: the intrinsics keep the compiler
// from rounding a sum and a product at once.
__device__ double logarithm(double x) {
  const u64 bits = to_bits(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = __longlong_as_double(static_cast<i64>((bits & ((1ull << 52) - 1)) | 1023ull << 52));
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    ++exponent;
  }
  const double s = __ddiv_rn(__dadd_rn(m, -1), __dadd_rn(m, 1));
  double series = 1.0 / 21;
#pragma unroll 1
  for (int k = 19; k > 0; k -= 2) {
    series = __dadd_rn(__dmul_rn(series, __dmul_rn(s, s)), 1.0 / k);
  }
  return __dadd_rn(__dmul_rn(2 * s, series), __dmul_rn(exponent, 0.693147180559945309417));
}

__device__ double cosine_of_turns(double turns) {
  double from_axis = turns <= 0.5 ? turns : __dadd_rn(1, -turns);
  const bool is_negative = from_axis > 0.25;
  if (is_negative) from_axis = __dadd_rn(0.5, -from_axis);
  const double angle = __dmul_rn(2 * 3.14159265358979323846, from_axis);
  double series = 1;
#pragma unroll 1
  for (int k = 22; k > 0; k -= 2) {
    const double term = __dmul_rn(__dmul_rn(series, __dmul_rn(angle, angle)), 1.0 / (k * (k - 1)));
    series = __dadd_rn(1, -term);
  }
  return is_negative ? -series : series;
}

__device__ double normal(u64 stream, u64 i) {
  const double radius_from = __dadd_rn(1, -unit_random(random_bits(stream, 2 * i)));
  return __dmul_rn(__dsqrt_rn(-2 * logarithm(radius_from)),
                   cosine_of_turns(unit_random(random_bits(stream, 2 * i + 1))));
}

__device__ double rule_number_at(const Rule& rule, u64 i) {
  if (rule.kind == rule_normal) {
    return __dadd_rn(rule.first, __dmul_rn(rule.range, normal(rule.stream, i)));
  }
  if (rule.kind == rule_count) return static_cast<double>(i % rule.up);
  if (rule.kind == rule_spread_number) {
    const u64 choice = random_bits(rule.stream, 2 * i);
    const double mantissa = __dadd_rn(1, unit_random(random_bits(rule.stream, 2 * i + 1)));
    const double scale = __longlong_as_double(static_cast<i64>(1022 - (choice >> 1) % 10) << 52);
    // An index that is calculated would put the rule on the stack.
    const double length = (choice & 1) != 0 ? rule.lengths[1] : rule.lengths[0];
    return __dadd_rn(rule.center, __dmul_rn(length, mantissa * scale));
  }
  if (rule.range == 0) return rule.first;
  return __dadd_rn(rule.first, __dmul_rn(rule.range, unit_random(random_bits(rule.stream, i))));
}

__device__ u64 rule_bits_at(const Rule& rule, u64 i) {
  const u64 choice = random_bits(rule.stream, rule.kind == rule_bits ? i : 2 * i);
  if (rule.kind == rule_bits) return choice;
  const bool goes_down = rule.down > 0 && (rule.up == 0 || (choice & 1) != 0);
  const u64 length = goes_down ? rule.down : rule.up;
  const u64 octaves = 64 - __clzll(static_cast<i64>(length));
  const u64 octave = (choice >> 3) % (octaves + 1);
  if (octave == 0) return rule.middle;
  const bool is_end = octave == octaves && (choice & 6) == 0;
  const u64 first = 1ull << (octave - 1);
  const u64 last = first - 1 + first < length ? first - 1 + first : length;
  const u64 offset =
      is_end ? length : first + random_bits(rule.stream, 2 * i + 1) % (last - first + 1);
  return goes_down ? rule.middle - offset : rule.middle + offset;
}

// Rounds to nearest even in one step.
__device__ u64 small_float(double value, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const u64 from = to_bits(value);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const u64 all = (1ull << (exponent_bits + mantissa_bits)) - 1;
  const u64 top = all >> mantissa_bits << mantissa_bits;
  const u64 sign = from >> 63 << (exponent_bits + mantissa_bits);
  const u64 too_large = has_infinity ? top : all - 1;
  const int field = static_cast<int>(from >> 52 & 0x7FF);
  u64 fraction = from & ((1ull << 52) - 1);
  if (field == 0x7FF && fraction != 0) {
    return sign | (has_infinity ? top | 1ull << (mantissa_bits - 1) : all);
  }
  if (field == 0) return sign;
  const int exponent = field - 1023;
  if (exponent > bias + 1) return sign | too_large;
  fraction |= 1ull << 52;
  const int shift = 52 - mantissa_bits + max(0, 1 - bias - exponent);
  if (shift > 53) return sign;
  u64 kept = fraction >> shift;
  const u64 rest = fraction & ((1ull << shift) - 1);
  const u64 half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  const u64 rounded = (static_cast<u64>(max(0, exponent - 1 + bias)) << mantissa_bits) + kept;
  return sign | (rounded < too_large ? rounded : too_large);
}

// The bits of the integer of the type that is nearest to `value`.
__device__ u64 nearest_integer(double value, Type type) {
  const bool is_signed = type % 2 == 0;
  const int digits = 8 * size_of(type) - (is_signed ? 1 : 0);
  const double limit = __longlong_as_double(static_cast<i64>(digits + 1023) << 52);
  const double rounded = rint(value);
  if (isnan(value)) return 0;
  if (rounded >= limit - 1) return ~0ull >> (64 - digits);
  if (is_signed && rounded <= -limit) return 1ull << digits;
  if (!is_signed && rounded <= 0) return 0;
  return is_signed ? static_cast<u64>(static_cast<i64>(rounded)) : static_cast<u64>(rounded);
}

__device__ u64 encoded(double value, Type type) {
  switch (type) {
    case float8_e4m3:
      return small_float(value, 4, 3, false);
    case float16:
      return small_float(value, 5, 10, true);
    case bfloat16:
      return small_float(value, 8, 7, true);
    case float32:
      return isnan(value) ? small_float(value, 8, 23, true)
                          : __float_as_uint(__double2float_rn(value));
    case float64:
      return to_bits(value);
    default:
      return nearest_integer(value, type);
  }
}

// Returns a float whose exponent is too small by 120; all ones, but for the sign, are NaN.
__device__ float float8(u32 bits) {
  const u32 sign = (bits & 0x80u) << 24;
  if ((bits & 0x7Fu) == 0x7Fu) return __uint_as_float(sign | 0x7FFFFFFFu);
  return __uint_as_float(sign | (bits & 0x7Fu) << 20) * 0x1p120f;
}

__device__ double number(u64 bits, Type type) {
  float half;
  switch (type) {
    case int8:
      return static_cast<signed char>(bits);
    case int16:
      return static_cast<short>(bits);
    case int32:
      return static_cast<int>(bits);
    case int64:
      return static_cast<double>(static_cast<i64>(bits));
    case float8_e4m3:
      return float8(static_cast<u32>(bits));
    case float16:
      asm("cvt.f32.f16 %0, %1;" : "=f"(half) : "h"(static_cast<unsigned short>(bits)));
      return half;
    case bfloat16:
      return __uint_as_float(static_cast<u32>(bits) << 16);
    case float32:
      return __uint_as_float(static_cast<u32>(bits));
    case float64:
      return from_bits(bits);
    default:
      return static_cast<double>(bits);
  }
}

// Exact for 64-bit integers, which doubles do not tell apart: 0 for equal ones only.
__device__ double distance(u64 a, u64 b, Type type) {
  if (type == uint64) return static_cast<double>(a > b ? a - b : b - a);
  if (type == int64) {
    return static_cast<double>(static_cast<i64>(a) > static_cast<i64>(b) ? a - b : b - a);
  }
  return fabs(number(a, type) - number(b, type));
}

__device__ void note(Kind& kind, u64 index) {
  if (index < kind.first) kind.first = index;
  ++kind.count;
}

__device__ void gather(const Kind& mine, Kind* all) {
  if (mine.count == 0) return;
  atomicMin(&all->first, mine.first);
  atomicAdd(&all->count, mine.count);
}

// Doubles >= 0 are ordered as their bits are. One atomic operation for each block: all of them go to
// one address.
__device__ void gather_maximum(double mine, u64* all) {
  __shared__ u64 largest;
  __syncthreads();
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  u64 bits = to_bits(mine);
  for (int lane = 16; lane > 0; lane /= 2) {
    const u64 other = __shfl_xor_sync(0xFFFFFFFFu, bits, lane);
    if (other > bits) bits = other;
  }
  if (bits != 0 && threadIdx.x % 32 == 0) atomicMax(&largest, bits);
  __syncthreads();
  if (threadIdx.x == 0 && largest != 0) atomicMax(all, largest);
}

// 2^exponent. REQUIRES: it is a normal number.
__device__ double power_of_two(int exponent) {
  return __longlong_as_double(static_cast<i64>(exponent + 1023) << 52);
}

// The exponent of a finite number; of 0 and of subnormal numbers less than any normal one's.
__device__ int exponent_of(double x) {
  return static_cast<int>(__double_as_longlong(x) >> 52 & 0x7FF) - 1023;
}

struct __align__(16) Pair {
  u64 low, high;
};

#ifdef COMPARE
// The rule that elements are compared by.
struct Rules {
  Type type;
  double absolute, relative, ulps;
  int digits, least_exponent, poison, nan_agrees;
};

// The findings of a thread.
struct Found {
  Kind unwritten, not_finite, mismatch;
  double max_absolute, max_relative;
};

// The largest errors that a block has found, rounded down.
struct Errors {
  float absolute, relative;
};

// Numbers >= 0 are ordered as their bits are.
__device__ void raise(float& maximum, double value) {
  atomicMax(reinterpret_cast<int*>(&maximum), __float_as_int(__double2float_rd(value)));
}

// Notes the errors of an element, and what is wrong with it. Not inlined: the filter leaves few.
__device__ __noinline__ void examine(u64 bits, u64 expected_bits, u64 i, const Rules& rules,
                                     Found& found, Errors& errors) {
  const Type type = rules.type;
  const bool floating = type >= float8_e4m3;
  if (bits == expected_bits && !floating) return;
  const double value = number(bits, type);
  const bool finite = isfinite(value);
  if (bits == expected_bits && (finite || isinf(value))) return;
  const double reference = number(expected_bits, type);
  const u64 poison = 0x0101010101010101ull * static_cast<u8>(rules.poison);
  const bool is_poison = rules.poison >= 0 && bits == poison >> (64 - 8 * size_of(type));
  if (rules.nan_agrees && isnan(value) && isnan(reference) && !is_poison) return;
  // The elements are compared as a whole, on the host, whatever their order.
  const bool is_compared_later = isinf(rules.absolute) && !is_poison;
  if (is_compared_later && (rules.nan_agrees || !isnan(value))) return;
  const double difference = distance(bits, expected_bits, type);
  const double magnitude = fabs(reference);
  if (finite && isfinite(reference) && difference > 0) {
    found.max_absolute = max(found.max_absolute, difference);
    raise(errors.absolute, difference);
    // Divides only where the quotient is larger, up to rounding.
    if (reference != 0 && difference > found.max_relative * magnitude) {
      found.max_relative = max(found.max_relative, difference / magnitude);
      raise(errors.relative, found.max_relative);
    }
  }
  // NaN fails.
  double tolerance = rules.absolute + rules.relative * magnitude;
  if (rules.ulps > 0 && isfinite(reference)) {
    const int exponent = max(exponent_of(reference), rules.least_exponent);
    tolerance +=
        floating ? rules.ulps * (power_of_two(exponent) * power_of_two(-rules.digits)) : rules.ulps;
  }
  if (finite && isfinite(reference) && difference <= tolerance) return;
  note(is_poison ? found.unwritten : finite ? found.mismatch : found.not_finite, i);
}

__device__ u64 element_of(const Pair& pair, int k, int size) {
  const int first = 8 * size * k;
  const u64 word = first < 64 ? pair.low : pair.high;
  return word << (64 - 8 * size - first % 64) >> (64 - 8 * size);
}

__device__ float magnitude_of(float x) { return fabsf(x); }
__device__ double magnitude_of(double x) { return fabs(x); }
__device__ float power_below(float x) { return __uint_as_float(__float_as_uint(x) & 0x7F800000u); }
__device__ double power_below(double x) { return from_bits(to_bits(x) & 0x7FF0000000000000ull); }

// Settles in less time most elements of which examine() would note nothing. Rounding settles none that
// is wrong; an error may be larger than the largest that is noted, by two millionths.
template <typename Real>
struct Filter {
  static constexpr double kRoundsOff = 1e-6;
  Real absolute, relative, ulp, least_power, max_absolute = 0, max_relative = 0;

  __device__ explicit Filter(const Rules& rules)
      : absolute(static_cast<Real>(rules.absolute * (1 - kRoundsOff))),
        relative(static_cast<Real>(rules.relative * (1 - kRoundsOff))),
        ulp(static_cast<Real>(rules.ulps * power_of_two(-rules.digits) * (1 - kRoundsOff))),
        least_power(static_cast<Real>(power_of_two(rules.least_exponent))) {}

  __device__ void set_errors(const Errors& errors) {
    max_absolute = errors.absolute * static_cast<Real>(1 + kRoundsOff);
    max_relative = errors.relative * static_cast<Real>(1 + kRoundsOff);
    if (isinf(absolute)) max_absolute = max_relative = absolute;  // Errors are not wanted then.
  }

  // Comparisons with NaN are false.
  __device__ bool settles(Real value, Real reference) const {
    const Real magnitude = magnitude_of(reference);
    const Real difference = magnitude_of(value - reference);
    const Real power = max(power_below(magnitude), least_power);
    return difference <= absolute + relative * magnitude + ulp * power &&
           difference <= max_absolute && difference <= max_relative * magnitude;
  }
};

// Returns the elements that the filter does not settle, the first in the lowest bit.
template <Type type, typename Real>
__device__ u32 unclear(const Pair& have, const Pair& want, const Filter<Real>& filter) {
  const int size = size_of(type);
  u32 found = 0;
#pragma unroll
  for (int k = 0; k < 16 / size; ++k) {
    // Numbers of smaller types are floats.
    const bool settled = filter.settles(static_cast<Real>(number(element_of(have, k, size), type)),
                                        static_cast<Real>(number(element_of(want, k, size), type)));
    found |= (settled ? 0u : 1u) << k;
  }
  return found;
}

// One kernel for all types: an instance of each would take a second to compile.
extern "C" __global__ void __launch_bounds__(256, 4)
    compare(const u8* actual, const u8* expected, u64 mask, i64 elements, Type type,
            double absolute, double relative, double ulps, int digits, int least_exponent,
            int poison, int nan_agrees, Comparison* found) {
  __shared__ Errors errors;
  const Rules rules = {type, absolute, relative, ulps, digits, least_exponent, poison, nan_agrees};
  const Kind none = {~0ull, 0};
  Found here = {none, none, none, 0, 0};
  if (threadIdx.x == 0) errors = {0, 0};
  __syncthreads();
  const int size = size_of(type);
  const int per_pair = 16 / size;
  const bool is_aligned =
      (reinterpret_cast<u64>(actual) | reinterpret_cast<u64>(expected)) % 16 == 0;
  const i64 pairs = is_aligned ? elements / per_pair : 0;
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  Filter<float> filter(rules);
  Filter<double> wide(rules);
#pragma unroll 1
  for (i64 first = thread - threadIdx.x % 32; first < pairs; first += stride) {
    const i64 i = first + threadIdx.x % 32;
    u32 left = 0;
    Pair have = {0, 0};
    Pair want = {0, 0};
    if (i < pairs) {
      have = reinterpret_cast<const Pair*>(actual)[i];
      if (expected != nullptr) want = reinterpret_cast<const Pair*>(expected)[i];
      if (mask != 0) {
        want.low ^= random_bits(mask, 2 * i);
        want.high ^= random_bits(mask, 2 * i + 1);
      }
      filter.set_errors(errors);
      left = have.low == want.low && have.high == want.high ? 0 : ~0u >> (32 - per_pair);
      if (type == float8_e4m3) left = unclear<float8_e4m3>(have, want, filter);
      if (type == float16) left = unclear<float16>(have, want, filter);
      if (type == bfloat16) left = unclear<bfloat16>(have, want, filter);
      if (type == float32) left = unclear<float32>(have, want, filter);
      if (type == float64) {
        wide.set_errors(errors);
        left = unclear<float64>(have, want, wide);
      }
    }
#pragma unroll 1
    for (; left != 0; left &= left - 1) {
      const int k = __ffs(left) - 1;
      examine(element_of(have, k, size), element_of(want, k, size), i * per_pair + k, rules, here,
              errors);
    }
    __syncwarp();  // Lanes that stay apart would load apart.
  }
#pragma unroll 1
  for (i64 i = pairs * per_pair + thread; i < elements; i += stride) {
    const u64 kept = expected != nullptr ? bits_at(expected, i, size) : 0;
    examine(bits_at(actual, i, size), mask == 0 ? kept : unmasked(kept, i, size, mask), i, rules,
            here, errors);
  }
  gather(here.unwritten, &found->unwritten);
  gather(here.not_finite, &found->not_finite);
  gather(here.mismatch, &found->mismatch);
  gather_maximum(here.max_absolute, &found->max_absolute_bits);
  gather_maximum(here.max_relative, &found->max_relative_bits);
}
#endif

// Depends on the buffer and the place, so that what is read from one buffer's guard zone and
// written to another's, or a few bytes further, does not look untouched.
__device__ u8 guard_byte(i64 offset, u32 salt) {
  u32 x = (static_cast<u32>(offset) ^ salt) * 0x9E3779B1u;
  x = (x ^ (x >> 15)) * 0x85EBCA77u;
  return static_cast<u8>(x >> 24);
}

// The i-th byte of the two zones, as an offset from the data.
__device__ i64 guard_offset(i64 i, i64 bytes, i64 before) {
  return i < before ? i - before : bytes + (i - before);
}

// Unrolling here takes longer to compile than it ever saves.

// smemtune::noise_bits.
__device__ u32 noise_bits(u32 noise, u32 i) {
  u32 x = (i * 0x9E3779B1u) ^ noise;
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

// Element i, which has these bits before.
__device__ u32 drawn(u32 bits, i64 i, const Refill& job) {
  if (job.noise == 0 || (bits & 0x7F800000u) == 0) return bits;
  const u32 other = bits ^ (noise_bits(job.noise, static_cast<u32>(i)) & 0xFFFu);
  const double value = __uint_as_float(other);
  return value >= job.low && value <= job.high ? other : bits;
}

__device__ u64 drawn(u64 bits, i64 i, const Refill& job) {
  if (job.noise == 0 || (bits & 0x7FF0000000000000ull) == 0) return bits;
  const u64 other = bits ^ noise_bits(job.noise, static_cast<u32>(i));
  const double value = from_bits(other);
  return value >= job.low && value <= job.high ? other : bits;
}

__device__ void put(u8* elements, i64 i, int size, u64 bits) {
  if (size == 1) elements[i] = static_cast<u8>(bits);
  if (size == 2) reinterpret_cast<unsigned short*>(elements)[i] = static_cast<unsigned short>(bits);
  if (size == 4) reinterpret_cast<u32*>(elements)[i] = static_cast<u32>(bits);
  if (size == 8) reinterpret_cast<u64*>(elements)[i] = bits;
}

#ifdef DRAW
extern "C" __global__ void draw(u8* to, i64 begin, i64 end, Type type, Rule rule) {
  const int size = size_of(type);
  const bool gives_bits = rule.kind == rule_bits || rule.kind == rule_spread_integer;
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (i64 i = begin + static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < end;
       i += stride) {
    const u64 at = static_cast<u64>(i);
    put(to, i, size, gives_bits ? rule_bits_at(rule, at) : encoded(rule_number_at(rule, at), type));
  }
}
#endif

// Redraws the elements of 16 bytes from offset `at` on, one by one.
__device__ void redraw_elements(const Refill& job, i64 at) {
  const int size = job.element_bytes;
  const i64 elements = job.bytes / size;
#pragma unroll 1
  for (i64 i = at / size; i < min((at + 16) / size, elements); ++i) {
    const i64 source = i + job.offset < elements ? i + job.offset : i + job.offset - elements;
    u64 bits = bits_at(job.from, source, size);
    if (size == 4) bits = drawn(static_cast<u32>(bits), i, job);
    if (size == 8) bits = drawn(bits, i, job);
    put(job.to, i, size, bits);
  }
}

// The word that begins `bits` bits after the first of two words.
__device__ u64 between(u64 first, u64 second, int bits) {
  return bits == 0 ? first : first >> bits | second << (64 - bits);
}

__device__ void redraw(const Refill& job, i64 thread, i64 stride) {
  const int size = job.element_bytes;
  const i64 ahead = job.offset * size;
#pragma unroll 1
  for (i64 i = thread; i < (job.bytes + 15) / 16; i += stride) {
    const i64 at = 16 * i;
    const bool is_round = at + ahead >= job.bytes;
    const i64 source = is_round ? at + ahead - job.bytes : at + ahead;
    // Three aligned words have all 16 bytes, which may begin between two.
    const bool is_whole = at + 16 <= job.bytes && source / 8 * 8 + 24 <= job.bytes &&
                          (is_round || at + ahead + 16 <= job.bytes);
    if (!is_whole) {
      redraw_elements(job, at);
      continue;
    }
    const u64* words = reinterpret_cast<const u64*>(job.from) + source / 8;
    const int bits = 8 * static_cast<int>(source % 8);
    const u64 middle = words[1];
    Pair pair = {between(words[0], middle, bits), between(middle, words[2], bits)};
    if (size == 4 && job.noise != 0) {
      pair.low = drawn(static_cast<u32>(pair.low), 4 * i, job) |
                 static_cast<u64>(drawn(static_cast<u32>(pair.low >> 32), 4 * i + 1, job)) << 32;
      pair.high = drawn(static_cast<u32>(pair.high), 4 * i + 2, job) |
                  static_cast<u64>(drawn(static_cast<u32>(pair.high >> 32), 4 * i + 3, job)) << 32;
    }
    if (size == 8) pair = {drawn(pair.low, 2 * i, job), drawn(pair.high, 2 * i + 1, job)};
    reinterpret_cast<Pair*>(job.to)[i] = pair;
  }
}

__device__ void fill(const Refill& job, i64 thread, i64 stride) {
  const u64 poison = 0x0101010101010101ull * static_cast<u8>(job.poison);
  const Pair* from = reinterpret_cast<const Pair*>(job.from);
  Pair* to = reinterpret_cast<Pair*>(job.to);
#pragma unroll 1
  for (i64 i = thread; i < job.bytes / 16; i += stride) {
    if (job.from != nullptr) {
      to[i] = from[i];
    } else {
      to[i].low = to[i].high = poison;
    }
  }
#pragma unroll 1
  for (i64 i = job.bytes / 16 * 16 + thread; i < job.bytes; i += stride) {
    job.to[i] = job.from != nullptr ? job.from[i] : static_cast<u8>(job.poison);
  }
}

#ifdef FILL
// A row of blocks for each buffer.
extern "C" __global__ void refill(const Refill* jobs, i64 before) {
  const Refill job = jobs[blockIdx.y];
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (job.element_bytes > 0) {
    redraw(job, thread, stride);
  } else {
    fill(job, thread, stride);
  }
#pragma unroll 1
  for (i64 i = thread; i < before + job.bytes_after; i += stride) {
    const i64 offset = guard_offset(i, job.bytes, before);
    job.to[offset] = guard_byte(offset, job.salt);
  }
}
#endif

#ifdef FILL
extern "C" __global__ void apply_mask(u64* to, const u64* from, i64 words, u64 mask) {
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += stride) {
    to[i] = from[i] ^ random_bits(mask, i);
  }
}
#endif

// No branch in the loop, so that its loads overlap.
__device__ void check_guards(const ByteCheck& job, i64 before, i64 thread, i64 stride,
                             ByteDifference* found) {
  i64 first = 0x7FFFFFFFFFFFFFFF;
  u64 count = 0;
#pragma unroll 8
  for (i64 i = thread; i < before + job.bytes_after; i += stride) {
    const i64 offset = guard_offset(i, job.bytes, before);
    const bool differs = job.data[offset] != guard_byte(offset, job.salt);
    first = differs && offset < first ? offset : first;
    count += differs;
  }
  if (count == 0) return;
  atomicMin(&found->first, first);
  atomicAdd(&found->count, count);
}

__device__ void compare_byte(const ByteCheck& job, i64 i, ByteDifference* found) {
  if (job.data[i] == job.same_as[i]) return;
  atomicMin(&found->first, i);
  atomicAdd(&found->count, 1ull);
}

__device__ void compare_bytes(const ByteCheck& job, i64 thread, i64 stride, ByteDifference* found) {
  const u64* words = reinterpret_cast<const u64*>(job.data);
  const u64* same_as = reinterpret_cast<const u64*>(job.same_as);
  for (i64 i = thread; i < job.bytes / 8; i += stride) {
    if (words[i] == same_as[i]) continue;
    for (i64 k = 8 * i; k < 8 * i + 8; ++k) compare_byte(job, k, found);
  }
  if (thread < job.bytes % 8) compare_byte(job, job.bytes / 8 * 8 + thread, found);
}

#ifdef CHECK
// A row of blocks for each check.
extern "C" __global__ void check_bytes(const ByteCheck* jobs, i64 before, ByteDifference* found) {
  const ByteCheck job = jobs[blockIdx.y];
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  const i64 thread = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (job.same_as != nullptr) {
    compare_bytes(job, thread, stride, found + blockIdx.y);
  } else {
    check_guards(job, before, thread, stride, found + blockIdx.y);
  }
}
#endif

template <typename T>
__device__ void copy_element(void* to, const void* from, i64 to_index, i64 from_index) {
  static_cast<T*>(to)[to_index] = static_cast<const T*>(from)[from_index];
}

#ifdef FILL
extern "C" __global__ void gather_elements(void* to, const void* from, const i64* at, i64 count,
                                           int size) {
  const i64 stride = static_cast<i64>(gridDim.x) * blockDim.x;
  for (i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (size == 1) copy_element<u8>(to, from, i, at[i]);
    if (size == 2) copy_element<unsigned short>(to, from, i, at[i]);
    if (size == 4) copy_element<u32>(to, from, i, at[i]);
    if (size == 8) copy_element<u64>(to, from, i, at[i]);
  }
}
#endif

__device__ u64 timer() {
  u64 nanoseconds;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

#ifdef TIME
extern "C" __global__ void block(const volatile u32* flag, volatile u32* timed_out, u32 ticket,
                                 u64 timeout_ns) {
  const u64 start = timer();
  while (*flag < ticket) {
    if (timer() - start > timeout_ns) {
      *timed_out = ticket;
      __threadfence_system();
      return;
    }
  }
}

extern "C" __global__ void stamp(ClockStamp* stamps, u32 slots) {
  u32 sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  // One 16-byte store, so that two blocks of one multiprocessor do not mix theirs.
  const u64 cycles = clock64();
  const u64 nanoseconds = timer();
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(stamps + sm % slots), "l"(cycles),
               "l"(nanoseconds)
               : "memory");
}

extern "C" __global__ void spin(u64 nanoseconds, float* sink) {
  const u64 start = timer();
  float x = threadIdx.x;
  while (timer() - start < nanoseconds) {
#pragma unroll
    for (int i = 0; i < 256; ++i) x = x * 0.999f + 1.0f;
  }
  // Never true; keeps the arithmetic.
  if (x < 0) *sink = x;
}
#endif
