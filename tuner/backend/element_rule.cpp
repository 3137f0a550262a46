#include "tuner/backend/element_rule.h"

#include "tuner/core/element_codec.h"
#include "tuner/core/hash.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>

namespace smemtune {
namespace {

// Scales of the distances of floating-point numbers.
constexpr std::array<double, 10> kOctaves = {0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5,
                                             0x1p-6, 0x1p-7, 0x1p-8, 0x1p-9, 0x1p-10};

/// Returns the integer of the type that is nearest to `value`.
Whole nearest_of(double value, ScalarType type) {
  return whole_of(to_bits(encode(value, type), type).front(), type);
}

/// Returns the rule of the kinds uniform, normal and full_range, spread.
ElementRule spread(const Argument& argument, std::uint64_t stream) {
  const Init& init = argument.init;
  const bool is_normal = init.kind == Init::Kind::normal;
  const bool is_full = init.kind == Init::Kind::full_range;
  const double low = is_full ? -1 : is_normal ? init.a - 3 * init.b : init.a;
  const double high = is_full ? 1 : is_normal ? init.a + 3 * init.b : init.b;
  const double center = is_normal ? init.a : std::clamp(0.0, low, high);
  ElementRule rule = {.kind = ElementRule::Kind::spread_number, .stream = stream, .center = center};
  rule.lengths[0] = center == high ? low - center : high - center;
  rule.lengths[1] = center == low ? high - center : low - center;
  if (is_floating(argument.type)) return rule;
  const Whole lowest = is_full ? lowest_of(argument.type) : nearest_of(low, argument.type);
  const Whole highest = is_full ? highest_of(argument.type) : nearest_of(high, argument.type);
  const Whole middle = nearest_of(center, argument.type);
  rule.kind = ElementRule::Kind::spread_integer;
  rule.middle = static_cast<std::uint64_t>(middle);
  rule.down = static_cast<std::uint64_t>(std::max<Whole>(0, middle - lowest));
  rule.up = static_cast<std::uint64_t>(std::max<Whole>(0, highest - middle));
  return rule;
}

std::uint64_t spread_integer(const ElementRule& rule, std::uint64_t i) {
  const std::uint64_t choice = random_bits(rule.stream, 2 * i);
  const bool goes_down = rule.down > 0 && (rule.up == 0 || (choice & 1) != 0);
  const std::uint64_t length = goes_down ? rule.down : rule.up;
  const auto octaves = static_cast<std::uint64_t>(std::bit_width(length));
  const std::uint64_t octave = (choice >> 3) % (octaves + 1);
  if (octave == 0) return rule.middle;
  const bool is_end = octave == octaves && (choice & 6) == 0;
  const std::uint64_t first = std::uint64_t{1} << (octave - 1);
  const std::uint64_t last = std::min(first - 1 + first, length);
  const std::uint64_t offset =
      is_end ? length : first + random_bits(rule.stream, 2 * i + 1) % (last - first + 1);
  return goes_down ? rule.middle - offset : rule.middle + offset;
}

/// Returns a number in [0, 1).
double unit_random(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Returns the natural logarithm of a normal number above 0, by the series of (m - 1) / (m + 1).
double logarithm(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  auto m =
      std::bit_cast<double>((bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1023} << 52);
  if (m > std::numbers::sqrt2) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  double series = 1.0 / 21;
  for (int k = 19; k > 0; k -= 2) series = series * (s * s) + 1.0 / k;
  return 2 * s * series + exponent * std::numbers::ln2;
}

/// Returns the cosine of 2 pi times a number in [0, 1), by its series at 0.
double cosine_of_turns(double turns) {
  double from_axis = turns <= 0.5 ? turns : 1 - turns;
  const bool is_negative = from_axis > 0.25;
  if (is_negative) from_axis = 0.5 - from_axis;
  const double angle = 2 * std::numbers::pi * from_axis;
  double series = 1;
  for (int k = 22; k > 0; k -= 2) series = 1 - series * (angle * angle) * (1.0 / (k * (k - 1)));
  return is_negative ? -series : series;
}

/// Returns Box and Muller's transform of the stream's numbers 2 i and 2 i + 1.
double normal(std::uint64_t stream, std::uint64_t i) {
  const double radius_from = 1 - unit_random(random_bits(stream, 2 * i));  // Never 0.
  return std::sqrt(-2 * logarithm(radius_from)) *
         cosine_of_turns(unit_random(random_bits(stream, 2 * i + 1)));
}

double spread_number(const ElementRule& rule, std::uint64_t i) {
  const std::uint64_t choice = random_bits(rule.stream, 2 * i);
  const double mantissa = 1 + unit_random(random_bits(rule.stream, 2 * i + 1));
  const double scale = kOctaves[(choice >> 1) % kOctaves.size()];
  return rule.center + rule.lengths[choice & 1] * (mantissa * scale);
}

}  // namespace

std::uint64_t ElementRule::bits_at(std::uint64_t i) const {
  return kind == Kind::bits ? random_bits(stream, i) : spread_integer(*this, i);
}

double ElementRule::number_at(std::uint64_t i) const {
  if (kind == Kind::normal) return first + range * smemtune::normal(stream, i);
  if (kind == Kind::count) return static_cast<double>(i % up);
  if (kind == Kind::spread_number) return spread_number(*this, i);
  return range == 0 ? first : first + range * unit_random(random_bits(stream, i));
}

std::uint64_t stream_of(const Argument& argument, std::uint64_t seed) {
  const std::span<const std::uint8_t> name(
      reinterpret_cast<const std::uint8_t*>(argument.name.data()), argument.name.size());
  return random_bits(seed, crc32(name));
}

std::optional<ElementRule> element_rule(const Argument& argument, std::uint64_t seed) {
  if (argument.begins_as) return std::nullopt;
  const Init& init = argument.init;
  const std::uint64_t stream = stream_of(argument, seed);
  const bool is_range = init.kind == Init::Kind::uniform || init.kind == Init::Kind::normal ||
                        init.kind == Init::Kind::full_range;
  if (init.is_spread && is_range) return spread(argument, stream);
  switch (init.kind) {
    case Init::Kind::full_range:
      if (is_floating(argument.type)) return ElementRule{.stream = stream, .first = -1, .range = 2};
      return ElementRule{.kind = ElementRule::Kind::bits, .stream = stream};
    case Init::Kind::uniform:
      return ElementRule{.stream = stream, .first = init.a, .range = init.b - init.a};
    case Init::Kind::normal:
      return ElementRule{
          .kind = ElementRule::Kind::normal, .stream = stream, .first = init.a, .range = init.b};
    case Init::Kind::iota:
      return ElementRule{.kind = ElementRule::Kind::count, .up = integers_from_zero(argument.type)};
    case Init::Kind::constant:
      return ElementRule{.first = init.a};
    case Init::Kind::none:
    case Init::Kind::zero:
      return ElementRule();
    default:
      return std::nullopt;
  }
}

}  // namespace smemtune
