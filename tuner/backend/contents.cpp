#include "tuner/backend/contents.h"

#include "tuner/backend/npy_file.h"
#include "tuner/core/definition.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/large_vector.h"
#include "tuner/core/search_space.h"
#include "tuner/core/usable_cores.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <numbers>
#include <span>
#include <string>

namespace smemtune {
namespace {

/// Returns a number in [0, 1).
double unit_random(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Returns Box and Muller's transform of the stream's numbers 2 i and 2 i + 1.
double normal_random(std::uint64_t stream, std::uint64_t i) {
  const double radius_from = 1 - unit_random(random_bits(stream, 2 * i));  // Never 0.
  const double angle = 2 * std::numbers::pi * unit_random(random_bits(stream, 2 * i + 1));
  return std::sqrt(-2 * std::log(radius_from)) * std::cos(angle);
}

/// Random elements of a range with a center, at distances of every order of magnitude from it.
class Spread {
 public:
  Spread(const Init& init, std::uint64_t stream) : stream_(stream) {
    const bool is_normal = init.kind == Init::Kind::normal;
    low_ = init.kind == Init::Kind::full_range ? -1 : is_normal ? init.a - 3 * init.b : init.a;
    high_ = init.kind == Init::Kind::full_range ? 1 : is_normal ? init.a + 3 * init.b : init.b;
    center_ = is_normal ? init.a : std::clamp(0.0, low_, high_);
    const bool is_low_end = center_ == low_;
    const bool is_high_end = center_ == high_;
    lengths_ = {is_high_end ? low_ - center_ : high_ - center_,
                is_low_end ? high_ - center_ : low_ - center_};
  }

  /// Returns an element between the ends, about as often in each of ten octaves of distances.
  double real(std::uint64_t i) const {
    const std::uint64_t choice = random_bits(stream_, 2 * i);
    const double length = lengths_[choice & 1];
    const std::size_t octave = (choice >> 1) % kOctaveScale.size();
    const double mantissa = 1 + unit_random(random_bits(stream_, 2 * i + 1));
    return center_ + length * (mantissa * kOctaveScale[octave]);
  }

  /// Makes the ends the integers nearest to them, as far as the type has them.
  void use_integers_of(const Init& init, ScalarType type) {
    if (init.kind == Init::Kind::full_range) {
      lowest_ = lowest_of(type);
      highest_ = highest_of(type);
    } else {
      lowest_ = whole_of(to_bits(encode(low_, type), type).front(), type);
      highest_ = whole_of(to_bits(encode(high_, type), type).front(), type);
    }
    middle_ = whole_of(to_bits(encode(center_, type), type).front(), type);
  }

  Whole integer(std::uint64_t i) const {
    const std::uint64_t choice = random_bits(stream_, 2 * i);
    const bool down = middle_ > lowest_ && (middle_ == highest_ || (choice & 1) != 0);
    const auto length = static_cast<std::uint64_t>(down ? middle_ - lowest_ : highest_ - middle_);
    const auto octaves = static_cast<std::uint64_t>(std::bit_width(length));
    const std::uint64_t octave = (choice >> 3) % (octaves + 1);
    if (octave == 0) return middle_;
    const bool is_end = octave == octaves && (choice & 6) == 0;
    const std::uint64_t first = std::uint64_t{1} << (octave - 1);
    const std::uint64_t last = std::min(first - 1 + first, length);
    const std::uint64_t offset =
        is_end ? length : first + random_bits(stream_, 2 * i + 1) % (last - first + 1);
    return down ? middle_ - static_cast<Whole>(offset) : middle_ + static_cast<Whole>(offset);
  }

 private:
  static constexpr std::array<double, 10> kOctaveScale = {0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5,
                                                          0x1p-6, 0x1p-7, 0x1p-8, 0x1p-9, 0x1p-10};

  std::uint64_t stream_;
  double low_;
  double high_;
  double center_;
  std::array<double, 2> lengths_ = {};  ///< Lengths to both ends, or to the one off the center.
  Whole lowest_ = 0;
  Whole highest_ = 0;
  Whole middle_ = 0;
};

Contents::Source from_numbers(const auto& element) { return each<double>(element); }
Contents::Source from_bits(const auto& bits) { return each<std::uint64_t>(bits); }

/// Returns contents of the kinds uniform, normal and full_range, spread.
Contents::Source spread_contents(const Argument& argument, std::uint64_t stream) {
  Spread spread(argument.init, stream);
  if (is_floating(argument.type)) {
    return from_numbers([spread](std::uint64_t i) { return spread.real(i); });
  }
  spread.use_integers_of(argument.init, argument.type);
  return from_bits(
      [spread, type = argument.type](std::uint64_t i) { return bits_of(spread.integer(i), type); });
}

/// Returns an argument's contents as an array of a definition.
HostArray host_contents(const Argument& argument, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes = initial_contents(argument, seed);
  return {
      .shape = argument.shape, .elements = {}, .type = argument.type, .bytes = std::move(bytes)};
}

/// Returns the contents that the argument's definition gives, from the contents of the arguments
/// that it reads.
std::vector<std::uint8_t> defined_contents(const Argument& argument, std::uint64_t seed) {
  constexpr std::uint64_t kMostOperations = 4'000'000'000;
  std::map<std::string, std::size_t> dimensions = {{argument.name, argument.shape.size()}};
  std::map<std::string, HostArray> arrays = {{argument.name, {argument.shape, {}, argument.type}}};
  std::map<std::string, double> scalars;
  std::vector<std::string> scalar_names;
  Bindings constants = argument.problem;
  for (const Argument& other : argument.reads) {
    if (other.is_buffer()) {
      dimensions[other.name] = other.shape.size();
      arrays[other.name] = host_contents(other, seed);
    } else if (!is_floating(other.type) && other.raw_bytes == 0) {
      constants[other.name] = other.integer;
    } else if (!constants.contains(other.name)) {
      scalar_names.push_back(other.name);
      scalars[other.name] = to_doubles(scalar_bytes(other), other.type).front();
    }
  }
  const Definition definition =
      Definition::compile(argument.init.definition, constants, dimensions, scalar_names);
  const HostArray made = definition.evaluate(arrays, scalars, kMostOperations, usable_cores());
  if (made.bits.empty()) return encode(made.elements, argument.type);
  return encode_bits(made.bits.size(), argument.type,
                     each<std::uint64_t>([&made](std::uint64_t i) { return made.bits[i]; }));
}

/// Returns contents that begin as those of another type.
Contents::Source converted_contents(const Argument& argument, std::uint64_t seed) {
  Argument narrow = argument;
  narrow.type = *argument.begins_as;
  narrow.begins_as.reset();
  const auto contents = std::make_shared<const Contents>(narrow, seed);
  return Elements<double>(
      [contents, type = narrow.type](std::uint64_t begin, std::span<double> values) {
        std::vector<std::uint8_t> bytes(values.size() * size_of(type));
        contents->read(begin * size_of(type), bytes);
        read_elements(bytes, type, 0, 1, values);
      });
}

Contents::Source permuted_contents(const Argument& argument, std::uint64_t stream) {
  const auto count = static_cast<std::uint64_t>(argument.elements());
  if (count > integers_from_zero(argument.type)) {
    throw InputError("argument " + argument.name + ": a permutation of " + std::to_string(count) +
                     " elements does not fit the type " + std::string(cuda_name(argument.type)));
  }
  const Permutation permutation(count, stream);
  return from_numbers(
      [permutation](std::uint64_t i) { return static_cast<double>(permutation(i)); });
}

Contents::Source contents_of(const Argument& argument, std::uint64_t seed) {
  if (argument.begins_as) return converted_contents(argument, seed);
  const Init& init = argument.init;
  const double a = init.a;
  const double b = init.b;
  // Every argument has its own stream, or two inputs would be equal.
  const std::span<const std::uint8_t> name(
      reinterpret_cast<const std::uint8_t*>(argument.name.data()), argument.name.size());
  const std::uint64_t stream = random_bits(seed, crc32(name));
  const bool is_range = init.kind == Init::Kind::uniform || init.kind == Init::Kind::normal ||
                        init.kind == Init::Kind::full_range;
  if (init.is_spread && is_range) return spread_contents(argument, stream);
  switch (init.kind) {
    case Init::Kind::file:
      return read_npy(argument);
    case Init::Kind::definition:
      return defined_contents(argument, seed);
    case Init::Kind::full_range:
      if (!is_floating(argument.type)) {
        return from_bits([stream](std::uint64_t i) { return random_bits(stream, i); });
      }
      return from_numbers(
          [stream](std::uint64_t i) { return 2 * unit_random(random_bits(stream, i)) - 1; });
    case Init::Kind::uniform:
      return from_numbers([a, b, stream](std::uint64_t i) {
        return a + (b - a) * unit_random(random_bits(stream, i));
      });
    case Init::Kind::normal:
      return from_numbers(
          [a, b, stream](std::uint64_t i) { return a + b * normal_random(stream, i); });
    case Init::Kind::iota:
      return from_numbers([modulus = integers_from_zero(argument.type)](std::uint64_t i) {
        return static_cast<double>(i % modulus);
      });
    case Init::Kind::permutation:
      return permuted_contents(argument, stream);
    case Init::Kind::constant:
      return from_numbers([a](std::uint64_t) { return a; });
    case Init::Kind::none:
    case Init::Kind::zero:
      break;
  }
  return from_numbers([](std::uint64_t) { return 0.0; });
}

}  // namespace

Contents::Contents(const Argument& argument, std::uint64_t seed)
    : type_(argument.type),
      bytes_(static_cast<std::size_t>(argument.bytes())),
      source_(contents_of(argument, seed)) {}

void Contents::read(std::size_t begin, std::span<std::uint8_t> part) const {
  if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&source_)) {
    std::ranges::copy(std::span(*bytes).subspan(begin, part.size()), part.begin());
  } else if (const auto* numbers = std::get_if<Elements<double>>(&source_)) {
    encode_to(part, begin / size_of(type_), type_, *numbers);
  } else {
    encode_to(part, begin / size_of(type_), type_, std::get<Elements<std::uint64_t>>(source_));
  }
}

std::vector<std::uint8_t> Contents::take() {
  if (auto* bytes = std::get_if<std::vector<std::uint8_t>>(&source_)) return std::move(*bytes);
  auto bytes = large_vector<std::uint8_t>(bytes_);
  read(0, bytes);
  return bytes;
}

std::vector<std::uint8_t> initial_contents(const Argument& argument, std::uint64_t seed) {
  return Contents(argument, seed).take();
}

bool begins_with_contents(const Argument& argument) {
  return argument.role == Role::input || argument.role == Role::inout ||
         argument.init.kind != Init::Kind::none;
}

bool is_drawn(const Argument& argument) {
  return argument.init.kind != Init::Kind::file && argument.init.kind != Init::Kind::definition;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as definitions read each other.
bool depends_on_seed(const Argument& argument) {
  switch (argument.init.kind) {
    case Init::Kind::uniform:
    case Init::Kind::normal:
    case Init::Kind::full_range:
    case Init::Kind::permutation:
      return true;
    case Init::Kind::definition:
      return std::ranges::any_of(argument.reads, depends_on_seed);
    default:
      return false;
  }
}

std::vector<std::uint8_t> struct_bytes(const Argument& argument, const MemberBytes& of_member) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(argument.raw_bytes));
  for (const StructMember& member : argument.members) {
    const std::span<const std::uint8_t> own = of_member(member.name);
    std::ranges::copy(own, bytes.begin() + member.offset);
  }
  return bytes;
}

std::vector<std::uint8_t> scalar_bytes(const Argument& argument) {
  if (argument.begins_as) {
    const std::vector<std::uint8_t> narrow = encode(argument.number, *argument.begins_as);
    return encode(to_doubles(narrow, *argument.begins_as), argument.type);
  }
  if (!argument.members.empty()) {
    throw InputError("the argument " + argument.name +
                     " is made of others: its bytes are only known with theirs");
  }
  if (argument.raw_bytes > 0) {
    Argument bytes = argument;
    bytes.shape = {argument.raw_bytes};
    return initial_contents(bytes, 0);
  }
  if (is_floating(argument.type)) return encode(argument.number, argument.type);
  auto bytes = encode_integer(argument.integer, argument.type);
  if (!bytes) {
    throw InputError("argument " + argument.name + ": " + std::to_string(argument.integer) +
                     " does not fit the type " + std::string(cuda_name(argument.type)));
  }
  return *bytes;
}

}  // namespace smemtune
