#include "tuner/core/element_codec.h"

#include "tuner/core/usable_cores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

namespace smemtune {
namespace {

/// A floating-point format of 8 or 16 bits: a sign, then exponent and mantissa bits. Without
/// infinity, all exponents belong to numbers, only the largest magnitude is NaN, and values that
/// are too large become the largest number.
template <typename Bits, int ExponentBits, int MantissaBits, bool HasInfinity>
struct SmallFloat {
  static constexpr int kMantissaBits = MantissaBits;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int kMinExponent = 1 - kBias;  ///< The smallest exponent of normal numbers.
  static constexpr std::uint32_t kMagnitude = (1u << (ExponentBits + MantissaBits)) - 1;
  static constexpr std::uint32_t kTopField = kMagnitude >> MantissaBits << MantissaBits;
  static constexpr std::uint32_t kNan =
      HasInfinity ? kTopField | (1u << (MantissaBits - 1)) : kMagnitude;
  static constexpr std::uint32_t kTooLarge = HasInfinity ? kTopField : kMagnitude - 1;

  Bits bits = 0;

  SmallFloat() = default;

  /// Rounds a double to nearest even in one step: rounding to float first would round some values
  /// twice.
  explicit SmallFloat(double value) {
    const auto from = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint32_t>(from >> 63) << (ExponentBits + MantissaBits);
    bits = static_cast<Bits>(sign | magnitude(from));
  }

  explicit operator double() const {
    const std::uint32_t field = (bits & kTopField) >> MantissaBits;
    const std::uint32_t fraction = bits & ((1u << MantissaBits) - 1);
    double value = 0;
    if (HasInfinity && (bits & kMagnitude) == kTooLarge) {
      value = std::numeric_limits<double>::infinity();
    } else if ((bits & kMagnitude) > kTooLarge) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (field == 0) {
      value = std::ldexp(fraction, kMinExponent - MantissaBits);
    } else {
      value = std::ldexp(fraction | (1u << MantissaBits),
                         static_cast<int>(field) - kBias - MantissaBits);
    }
    return (bits >> (ExponentBits + MantissaBits)) != 0 ? -value : value;
  }

 private:
  static std::uint32_t magnitude(std::uint64_t from) {
    constexpr int kDoubleMantissa = 52;
    constexpr std::uint64_t kOne = 1;
    const int field = static_cast<int>((from >> kDoubleMantissa) & 0x7FF);
    std::uint64_t fraction = from & ((kOne << kDoubleMantissa) - 1);
    if (field == 0x7FF && fraction != 0) return kNan;
    if (field == 0) return 0;  // Zero, or far below the least subnormal.
    const int exponent = field - 1023;
    if (exponent > kBias + 1) return kTooLarge;
    fraction |= kOne << kDoubleMantissa;
    const int shift = kDoubleMantissa - MantissaBits + std::max(0, kMinExponent - exponent);
    if (shift > kDoubleMantissa + 1) return 0;  // Less than half of the least subnormal.
    std::uint64_t kept = fraction >> shift;
    const std::uint64_t rest = fraction & ((kOne << shift) - 1);
    const std::uint64_t half = kOne << (shift - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
    // `kept` has the implicit bit if the number is normal, and a carry runs into the exponent.
    const auto rounded = static_cast<std::uint32_t>(
        (static_cast<std::uint64_t>(std::max(0, exponent - kMinExponent)) << MantissaBits) + kept);
    return std::min(rounded, kTooLarge);
  }
};

using Float8E4M3 = SmallFloat<std::uint8_t, 4, 3, false>;
using Half = SmallFloat<std::uint16_t, 5, 10, true>;
using BFloat16 = SmallFloat<std::uint16_t, 8, 7, true>;

template <typename T>
struct TypeTag {
  using Type = T;
};

/// Calls `function` with the TypeTag of the host type that has `type`'s bits.
template <typename Function>
auto with_type(ScalarType type, const Function& function) {
  switch (type) {
    case ScalarType::int8:
      return function(TypeTag<std::int8_t>());
    case ScalarType::uint8:
      return function(TypeTag<std::uint8_t>());
    case ScalarType::int16:
      return function(TypeTag<std::int16_t>());
    case ScalarType::uint16:
      return function(TypeTag<std::uint16_t>());
    case ScalarType::int32:
      return function(TypeTag<std::int32_t>());
    case ScalarType::uint32:
      return function(TypeTag<std::uint32_t>());
    case ScalarType::int64:
      return function(TypeTag<std::int64_t>());
    case ScalarType::uint64:
      return function(TypeTag<std::uint64_t>());
    case ScalarType::float8_e4m3:
      return function(TypeTag<Float8E4M3>());
    case ScalarType::float16:
      return function(TypeTag<Half>());
    case ScalarType::bfloat16:
      return function(TypeTag<BFloat16>());
    case ScalarType::float32:
      return function(TypeTag<float>());
    case ScalarType::float64:
      break;
  }
  return function(TypeTag<double>());
}

/// Returns what std::nearbyint() returns where halves round to even, without calling a library.
double nearest_integer(double value) {
  constexpr double kNoFractions = 0x1p51;
  constexpr double kShift = 0x1.8p52;
  return std::abs(value) < kNoFractions ? (value + kShift) - kShift : std::nearbyint(value);
}

/// Converts to T; an integer is the nearest one, or the nearest end of the type's range.
template <typename T>
T from_double(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    const double rounded = nearest_integer(value);
    // The limit as a double may be one above the largest integer, hence >=.
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    if (rounded <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    return static_cast<T>(rounded);
  } else {
    return static_cast<T>(value);
  }
}

constexpr std::uint64_t kWorthAThread = 1 << 16;  // Elements: about a millisecond.

/// Fills `bytes` with the elements from `begin` on, each converted by `convert`, AT_ONCE at a time.
template <std::uint64_t AT_ONCE, typename Number, typename T>
void convert_part(std::span<std::uint8_t> bytes, std::uint64_t begin,
                  const Elements<Number>& elements, const auto& convert) {
  std::array<Number, AT_ONCE> values = {};
  std::array<T, AT_ONCE> converted = {};
  const std::uint64_t count = bytes.size() / sizeof(T);
  for (std::uint64_t i = 0; i < count; i += AT_ONCE) {
    const std::size_t size = std::min(AT_ONCE, count - i);
    elements(begin + i, std::span(values).first(size));
    for (std::size_t k = 0; k < size; ++k) converted[k] = convert(values[k]);
    std::memcpy(bytes.data() + i * sizeof(T), converted.data(), size * sizeof(T));
  }
}

template <typename Number, typename T>
void convert_to(std::span<std::uint8_t> bytes, std::uint64_t begin,
                const Elements<Number>& elements, const auto& convert) {
  constexpr std::uint64_t kFew = 4;
  constexpr std::uint64_t kMany = 512;
  const std::uint64_t count = bytes.size() / sizeof(T);
  if (count <= kFew) return convert_part<kFew, Number, T>(bytes, begin, elements, convert);
  on_all_cores(count, kWorthAThread, [&](std::uint64_t from, std::uint64_t end) {
    convert_part<kMany, Number, T>(bytes.subspan(from * sizeof(T), (end - from) * sizeof(T)),
                                   begin + from, elements, convert);
  });
}

}  // namespace

double EncodedArray::operator[](std::size_t i) const { return element_at(bytes, type, i); }

std::vector<double> EncodedArray::doubles() const { return to_doubles(bytes, type); }

std::vector<double> to_doubles(std::span<const std::uint8_t> bytes, ScalarType type) {
  auto values = large_vector<double>(bytes.size() / size_of(type));
  on_all_cores(values.size(), kWorthAThread, [&](std::uint64_t begin, std::uint64_t end) {
    read_elements(bytes, type, begin, 1, std::span(values).subspan(begin, end - begin));
  });
  return values;
}

namespace {

template <typename T, typename Number>
void read_as(std::span<const std::uint8_t> bytes, std::size_t first, std::ptrdiff_t stride,
             std::span<Number> values) {
  const auto step = stride * static_cast<std::ptrdiff_t>(sizeof(T));
  const std::uint8_t* const from = bytes.data() + first * sizeof(T);
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value{};
    std::memcpy(&value, from + static_cast<std::ptrdiff_t>(i) * step, sizeof(T));
    values[i] = static_cast<Number>(value);
  }
}

}  // namespace

void read_elements(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t first,
                   std::ptrdiff_t stride, std::span<double> values) {
  with_type(type,
            [&](auto tag) { read_as<typename decltype(tag)::Type>(bytes, first, stride, values); });
}

void read_elements(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t first,
                   std::ptrdiff_t stride, std::span<Whole> values) {
  with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_integral_v<T>) read_as<T>(bytes, first, stride, values);
  });
}

double element_at(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t i) {
  double value = 0;
  read_elements(bytes, type, i, 1, std::span(&value, 1));
  return value;
}

std::uint64_t bits_at(std::span<const std::uint8_t> bytes, ScalarType type, std::size_t i) {
  std::uint64_t bits = 0;  // Little-endian, as all devices are.
  std::memcpy(&bits, bytes.data() + i * size_of(type), size_of(type));
  return bits;
}

void encode_to(std::span<std::uint8_t> bytes, std::uint64_t begin, ScalarType type,
               const Elements<double>& elements) {
  with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    convert_to<double, T>(bytes, begin, elements, from_double<T>);
  });
}

void encode_to(std::span<std::uint8_t> bytes, std::uint64_t begin, ScalarType type,
               const Elements<std::uint64_t>& elements) {
  with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_integral_v<T>) {
      convert_to<std::uint64_t, T>(bytes, begin, elements,
                                   [](std::uint64_t bits) { return static_cast<T>(bits); });
    }
  });
}

std::vector<std::uint8_t> encode_bits(std::uint64_t count, ScalarType type,
                                      const Elements<std::uint64_t>& elements) {
  auto bytes = large_vector<std::uint8_t>(count * size_of(type));
  encode_to(bytes, 0, type, elements);
  return bytes;
}

std::vector<std::uint8_t> elements_at(const std::vector<std::uint8_t>& bytes, std::size_t size,
                                      std::span<const std::int64_t> at) {
  if (at.empty()) return bytes;
  std::vector<std::uint8_t> elements(at.size() * size);
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::memcpy(&elements[i * size], &bytes[static_cast<std::size_t>(at[i]) * size], size);
  }
  return elements;
}

std::vector<std::uint64_t> to_bits(std::span<const std::uint8_t> bytes, ScalarType type) {
  std::vector<std::uint64_t> bits(bytes.size() / size_of(type));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = bits_at(bytes, type, i);
  return bits;
}

std::vector<std::uint8_t> encode(double value, ScalarType type) {
  return encode(std::span(&value, 1), type);
}

std::vector<std::uint8_t> encode(std::span<const double> values, ScalarType type) {
  auto bytes = large_vector<std::uint8_t>(values.size() * size_of(type));
  encode_to(bytes, 0, type, [values](std::uint64_t begin, std::span<double> block) {
    std::ranges::copy(values.subspan(begin, block.size()), block.begin());
  });
  return bytes;
}

std::optional<std::vector<std::uint8_t>> encode_integer(std::int64_t value, ScalarType type) {
  return with_type(type, [value](auto tag) -> std::optional<std::vector<std::uint8_t>> {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_integral_v<T>) {
      const T element = static_cast<T>(value);
      const bool fits = std::is_signed_v<T> || value >= 0;
      if (!fits || static_cast<std::int64_t>(element) != value) return std::nullopt;
      std::vector<std::uint8_t> bytes(sizeof(T));
      std::memcpy(bytes.data(), &element, sizeof(T));
      return bytes;
    }
    return std::nullopt;
  });
}

std::uint64_t integers_from_zero(ScalarType type) {
  constexpr std::uint64_t kOne = 1;
  const std::uint64_t of_type = with_type(type, [](auto tag) {
    using T = typename decltype(tag)::Type;
    if constexpr (std::is_integral_v<T>) {
      return std::uint64_t{std::numeric_limits<T>::max()};
    } else if constexpr (std::is_floating_point_v<T>) {
      return kOne << std::numeric_limits<T>::digits;
    } else {
      return kOne << (T::kMantissaBits + 1);
    }
  });
  return std::min(of_type, kOne << std::numeric_limits<double>::digits) + 1;
}

LastPlace last_place(ScalarType type) {
  switch (type) {
    case ScalarType::float8_e4m3:
      return {.digits = 3, .least_exponent = -6};
    case ScalarType::float16:
      return {.digits = 10, .least_exponent = -14};
    case ScalarType::bfloat16:
      return {.digits = 7, .least_exponent = -126};
    case ScalarType::float32:
      return {.digits = 23, .least_exponent = -126};
    case ScalarType::float64:
      return {.digits = 52, .least_exponent = -1022};
    default:
      return {};
  }
}

}  // namespace smemtune
