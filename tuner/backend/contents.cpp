#include "tuner/backend/contents.h"

#include "tuner/backend/usable_cores.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/reasons.h"
#include "tuner/core/search_space.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>

namespace smemtune {

namespace {

/// A 16-bit floating format: a sign, then exponent and mantissa bits.
template <int ExponentBits, int MantissaBits>
struct Float16Bits {
  static constexpr int kMantissaBits = MantissaBits;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int kMinExponent = 1 - kBias;  ///< Of normal numbers.
  static constexpr std::uint32_t kInfinity = ((1u << ExponentBits) - 1) << MantissaBits;

  std::uint16_t bits = 0;

  Float16Bits() = default;

  /// Rounds to nearest even, from the double in one step: rounding to float first would round some
  /// values twice.
  explicit Float16Bits(double value) {
    const auto from = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint32_t>(from >> 63) << 15;
    bits = static_cast<std::uint16_t>(sign | magnitude(from));
  }

  explicit operator double() const {
    const std::uint32_t field = (bits & kInfinity) >> MantissaBits;
    const std::uint32_t fraction = bits & ((1u << MantissaBits) - 1);
    double value = 0;
    if ((bits & kInfinity) == kInfinity) {
      value = fraction == 0 ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
    } else if (field == 0) {
      value = std::ldexp(fraction, kMinExponent - MantissaBits);
    } else {
      value = std::ldexp(fraction | (1u << MantissaBits),
                         static_cast<int>(field) - kBias - MantissaBits);
    }
    return (bits >> 15) != 0 ? -value : value;
  }

 private:
  static std::uint32_t magnitude(std::uint64_t from) {
    constexpr int kDoubleMantissa = 52;
    constexpr std::uint64_t kOne = 1;
    const int field = static_cast<int>((from >> kDoubleMantissa) & 0x7FF);
    std::uint64_t fraction = from & ((kOne << kDoubleMantissa) - 1);
    if (field == 0x7FF) return fraction == 0 ? kInfinity : kInfinity | (1u << (MantissaBits - 1));
    if (field == 0) return 0;  // Zero, or far below the least subnormal.
    const int exponent = field - 1023;
    if (exponent > kBias) return kInfinity;
    fraction |= kOne << kDoubleMantissa;
    const int shift = kDoubleMantissa - MantissaBits + std::max(0, kMinExponent - exponent);
    if (shift > kDoubleMantissa + 1) return 0;  // Less than half of the least subnormal.
    std::uint64_t kept = fraction >> shift;
    const std::uint64_t rest = fraction & ((kOne << shift) - 1);
    const std::uint64_t half = kOne << (shift - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
    // `kept` has the implicit bit where the number is normal, and a carry runs into the exponent.
    const auto rounded = static_cast<std::uint32_t>(
        (static_cast<std::uint64_t>(std::max(0, exponent - kMinExponent)) << MantissaBits) + kept);
    return std::min(rounded, kInfinity);
  }
};

using Half = Float16Bits<5, 10>;
using BFloat16 = Float16Bits<8, 7>;

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

/// Integers: the nearest one, or the nearest end of the type's range.
template <typename T>
T from_double(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    const double rounded = std::nearbyint(value);
    // The limits as doubles may lie one above the largest integer, hence >=.
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

/// How many integers from 0 on a type has without a gap, as far as doubles have none either.
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

/// In [0, 1).
double unit_random(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Box and Muller's transform of the stream's numbers 2 i and 2 i + 1.
double normal_random(std::uint64_t stream, std::uint64_t i) {
  const double radius_from = 1 - unit_random(random_bits(stream, 2 * i));  // Never 0.
  const double angle = 2 * std::numbers::pi * unit_random(random_bits(stream, 2 * i + 1));
  return std::sqrt(-2 * std::log(radius_from)) * std::cos(angle);
}

/// Sets element i of `bytes` to `element(i)`, on all cores where there is enough to do.
template <typename Element>
void fill(std::vector<std::uint8_t>& bytes, ScalarType type, const Element& element) {
  const std::uint64_t count = bytes.size() / size_of(type);
  const auto fill_range = [&](std::uint64_t begin, std::uint64_t end) {
    with_type(type, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      for (std::uint64_t i = begin; i < end; ++i) {
        const T value = from_double<T>(element(i));
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
      }
    });
  };
  constexpr std::uint64_t kWorthAThread = 1 << 16;  // Elements: about a millisecond.
  const std::uint64_t parts = std::clamp<std::uint64_t>(count / kWorthAThread, 1, usable_cores());
  std::vector<std::jthread> others;
  for (std::uint64_t part = 1; part < parts; ++part) {
    others.emplace_back(fill_range, count * part / parts, count * (part + 1) / parts);
  }
  fill_range(0, count / parts);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t n : shape) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text.empty() ? "no dimensions" : text;
}

/// What a .npy file says of the array it holds.
struct NpyHeader {
  std::string descr;  ///< `<f4`: byte order, kind and size.
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the Python dictionary of a .npy header:
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string name = quoted();
      expect(':');
      if (name == "descr") {
        header.descr = quoted();
        has_descr = true;
      } else if (name == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (name == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("unknown key '" + name + "'");
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) {
      fail("descr, fortran_order and shape are needed");
    }
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(file_ + ": not a .npy file of numbers: " + what);
  }

  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }

  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c))
      fail("its header has no '" + std::string(1, c) + "' before \"" +
           std::string(rest_.substr(0, 20)) + "\"");
  }

  std::string quoted() {
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail("a text in its header does not end");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool boolean() {
    skip_spaces();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (rest_.substr(0, word.size()) == word) {
        rest_.remove_prefix(word.size());
        return value;
      }
    }
    fail("fortran_order is neither True nor False");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    expect('(');
    while (!take(')')) {
      numbers.push_back(number());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return numbers;
  }

  std::int64_t number() {
    skip_spaces();
    std::int64_t value = 0;
    std::size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') {
      if (digits == 18) fail("a dimension has more than 18 digits");
      value = 10 * value + (rest_[digits] - '0');
      ++digits;
    }
    if (digits == 0) fail("a dimension is not a number");
    rest_.remove_prefix(digits);
    return value;
  }

  std::string_view rest_;
  std::string file_;
};

/// How a .npy file spells a type, without the byte order. NumPy itself has no bfloat16; arrays of
/// the ml_dtypes package are stored as two opaque bytes.
std::string_view npy_kind(ScalarType type) {
  switch (type) {
    case ScalarType::int8:
      return "i1";
    case ScalarType::uint8:
      return "u1";
    case ScalarType::int16:
      return "i2";
    case ScalarType::uint16:
      return "u2";
    case ScalarType::int32:
      return "i4";
    case ScalarType::uint32:
      return "u4";
    case ScalarType::int64:
      return "i8";
    case ScalarType::uint64:
      return "u8";
    case ScalarType::float16:
      return "f2";
    case ScalarType::bfloat16:
      return "V2";
    case ScalarType::float32:
      return "f4";
    case ScalarType::float64:
      break;
  }
  return "f8";
}

bool holds(std::string_view descr, ScalarType type) {
  if (descr.size() != 3 || descr.substr(1) != npy_kind(type)) return false;
  const bool has_no_order = size_of(type) == 1 || type == ScalarType::bfloat16;
  return descr[0] == '<' || (has_no_order && descr[0] == '|');
}

std::vector<std::uint8_t> read_npy(const Argument& argument) {
  static_assert(std::endian::native == std::endian::little);
  const std::string file = argument.init.file.path.string();
  std::ifstream in(argument.init.file.path, std::ios::binary);
  if (!in) throw InputError(file + ": cannot be opened for argument " + argument.name);

  // Magic, version, and the header's length: two bytes in version 1, four in 2 and 3.
  std::array<unsigned char, 12> start{};
  in.read(reinterpret_cast<char*>(start.data()), 8);
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!in || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    throw InputError(file + ": not a .npy file: it does not begin with \\x93NUMPY");
  }
  const int version = start[6];
  if (version < 1 || version > 3) {
    throw InputError(file + ": .npy version " + std::to_string(version) + ", known are 1 to 3");
  }
  const std::streamsize length_bytes = version == 1 ? 2 : 4;
  in.read(reinterpret_cast<char*>(start.data()) + 8, length_bytes);
  std::size_t header_bytes = 0;
  for (auto i = length_bytes; i > 0; --i) {
    header_bytes = header_bytes << 8 | start[static_cast<std::size_t>(7 + i)];
  }
  constexpr std::size_t kMaxHeaderBytes = 1 << 16;  // Ours have at most 32 dimensions.
  if (!in || header_bytes > kMaxHeaderBytes) {
    throw InputError(file + ": not a .npy file of numbers: a header of " +
                     std::to_string(header_bytes) + " bytes");
  }
  std::string text(header_bytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in) throw InputError(file + ": ends within its header");
  const NpyHeader header = NpyHeaderParser(text, file).parse();

  const std::string wanted =
      "argument " + argument.name + " (" + std::string(cuda_name(argument.type)) + ") needs ";
  if (!holds(header.descr, argument.type)) {
    throw InputError(file + ": elements of type '" + header.descr + "', " + wanted +
                     (size_of(argument.type) == 1 ? "'|" : "'<") +
                     std::string(npy_kind(argument.type)) + "'");
  }
  if (header.fortran_order) {
    throw InputError(file + ": in Fortran order, " + wanted + "C order");
  }
  if (header.shape != argument.shape) {
    throw InputError(file + ": shape " + shape_text(header.shape) + ", " + wanted +
                     shape_text(argument.shape));
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(argument.bytes()));
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) {
    throw InputError(file + ": ends after " + std::to_string(in.gcount()) + " of " +
                     std::to_string(bytes.size()) + " bytes of elements");
  }
  if (in.peek() != std::ifstream::traits_type::eof()) {
    throw InputError(file + ": goes on after " + std::to_string(bytes.size()) +
                     " bytes of elements");
  }
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> initial_contents(const Argument& argument, std::uint64_t seed) {
  if (argument.begins_as) {
    Argument narrow = argument;
    narrow.type = *argument.begins_as;
    narrow.begins_as.reset();
    return encode(to_doubles(initial_contents(narrow, seed), narrow.type), argument.type);
  }
  const Init& init = argument.init;
  if (init.kind == Init::Kind::file) return read_npy(argument);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(argument.bytes()));
  // Every argument has a stream of its own, or two inputs would be equal.
  const std::span<const std::uint8_t> name(
      reinterpret_cast<const std::uint8_t*>(argument.name.data()), argument.name.size());
  const std::uint64_t stream = random_bits(seed, crc32(name));
  switch (init.kind) {
    case Init::Kind::uniform:
      fill(bytes, argument.type, [&init, stream](std::uint64_t i) {
        return init.a + (init.b - init.a) * unit_random(random_bits(stream, i));
      });
      break;
    case Init::Kind::normal:
      fill(bytes, argument.type,
           [&init, stream](std::uint64_t i) { return init.a + init.b * normal_random(stream, i); });
      break;
    case Init::Kind::iota:
      fill(bytes, argument.type, [modulus = integers_from_zero(argument.type)](std::uint64_t i) {
        return static_cast<double>(i % modulus);
      });
      break;
    case Init::Kind::permutation: {
      const auto count = static_cast<std::uint64_t>(argument.elements());
      if (count > integers_from_zero(argument.type)) {
        throw InputError("argument " + argument.name + ": a permutation of " +
                         std::to_string(count) + " elements does not fit the type " +
                         std::string(cuda_name(argument.type)));
      }
      const Permutation permutation(count, stream);
      fill(bytes, argument.type,
           [&permutation](std::uint64_t i) { return static_cast<double>(permutation(i)); });
      break;
    }
    case Init::Kind::constant:
      fill(bytes, argument.type, [&init](std::uint64_t) { return init.a; });
      break;
    case Init::Kind::none:
    case Init::Kind::zero:
    case Init::Kind::file:
      break;  // All bytes are 0 already.
  }
  return bytes;
}

std::vector<double> to_doubles(std::span<const std::uint8_t> bytes, ScalarType type) {
  std::vector<double> values(bytes.size() / size_of(type));
  with_type(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value{};
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(value);
    }
  });
  return values;
}

std::vector<std::uint8_t> encode(double value, ScalarType type) {
  std::vector<std::uint8_t> bytes(size_of(type));
  fill(bytes, type, [value](std::uint64_t) { return value; });
  return bytes;
}

std::vector<std::uint8_t> encode(std::span<const double> values, ScalarType type) {
  std::vector<std::uint8_t> bytes(values.size() * size_of(type));
  fill(bytes, type, [values](std::uint64_t i) { return values[i]; });
  return bytes;
}

std::vector<std::uint8_t> scalar_bytes(const Argument& argument) {
  if (argument.begins_as) {
    const std::vector<std::uint8_t> narrow = encode(argument.number, *argument.begins_as);
    return encode(to_doubles(narrow, *argument.begins_as), argument.type);
  }
  if (argument.raw_bytes > 0) {
    Argument bytes = argument;
    bytes.shape = {argument.raw_bytes};
    return initial_contents(bytes, 0);
  }
  if (is_floating(argument.type)) return encode(argument.number, argument.type);
  return with_type(argument.type, [&argument](auto tag) {
    using T = typename decltype(tag)::Type;
    std::vector<std::uint8_t> bytes(sizeof(T));
    if constexpr (std::is_integral_v<T>) {
      const T value = static_cast<T>(argument.integer);
      const bool fits = std::is_signed_v<T> || argument.integer >= 0;
      if (!fits || static_cast<std::int64_t>(value) != argument.integer) {
        throw InputError("argument " + argument.name + ": " + std::to_string(argument.integer) +
                         " does not fit the type " + std::string(cuda_name(argument.type)));
      }
      std::memcpy(bytes.data(), &value, sizeof(T));
    }
    return bytes;
  });
}

double sum_of(std::span<const std::uint8_t> bytes, ScalarType type) {
  return sum_of(to_doubles(bytes, type));
}

double sum_of(std::span<const double> elements) {
  return std::accumulate(elements.begin(), elements.end(), 0.0);
}

Tolerance default_tolerance(ScalarType type) {
  const auto both = [](double tolerance) {
    return Tolerance{.absolute = tolerance, .relative = tolerance};
  };
  switch (type) {
    case ScalarType::float16:
      return both(4 * 0x1p-10);
    case ScalarType::bfloat16:
      return both(4 * 0x1p-7);
    case ScalarType::float32:
      return both(64 * 0x1p-23);
    case ScalarType::float64:
      return both(64 * 0x1p-52);
    default:
      return both(0);
  }
}

Tolerance tolerance_for(const Tolerance& given, ScalarType type) {
  return given.is_given() ? given : default_tolerance(type);
}

LastPlace last_place(ScalarType type) {
  switch (type) {
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

double allowed_error(const Tolerance& tolerance, ScalarType type, double reference) {
  double allowed =
      tolerance.absolute.value_or(0) + tolerance.relative.value_or(0) * std::abs(reference);
  if (tolerance.ulps) {
    const LastPlace place = last_place(type);
    const bool floats = is_floating(type) && std::isfinite(reference);
    const int exponent = floats && reference != 0 ? std::ilogb(reference) : place.least_exponent;
    const double unit =
        floats ? std::ldexp(1.0, std::max(exponent, place.least_exponent) - place.digits) : 1;
    allowed += *tolerance.ulps * unit;
  }
  return allowed;
}

std::optional<Mismatch> wrong_sum(const Argument& argument, double sum, double expected,
                                  const Tolerance& tolerance, RunReport& report) {
  const double error = std::abs(sum - expected);
  if (std::isfinite(error)) {
    report.max_absolute_error = std::max(report.max_absolute_error, error);
    if (expected != 0) {
      report.max_relative_error = std::max(report.max_relative_error, error / std::abs(expected));
    }
  }
  const Tolerance used = tolerance_for(tolerance, argument.type);
  // Written so that NaN fails.
  if (error <= allowed_error(used, argument.type, expected)) return std::nullopt;
  Mismatch mismatch = {.argument = argument.name,
                       .reason = Reason(Status::correctness, "mismatch").word()};
  mismatch.value = sum;
  mismatch.expected = expected;
  return mismatch;
}

}  // namespace smemtune
