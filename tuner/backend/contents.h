#pragma once

#include "tuner/core/element_codec.h"
#include "tuner/core/kernel_binding.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace smemtune {

/// The bytes of a buffer as its `init` defines them: the same for the same argument and seed on
/// every machine and device. Integer types round uniform() and normal() to the nearest integer; iota
/// starts again at 0 where the type cannot count further. Arguments with different names get
/// different random contents. If Init::is_spread is set, random elements keep to the same range but
/// are as often small as large: their distances from 0, or from the end of the range that is nearest
/// to 0, are of every order of magnitude, on both sides if there are two. Integers then reach 0 and
/// both ends; floating-point elements reach no end that they would not reach otherwise, and never 0,
/// because kernels may divide by them; those of normal() lie within three deviations. An argument
/// that begins as another type (begins_as) has that type's elements, converted.
class Contents {
 public:
  /// Throws InputError for a file that cannot be read or has another shape or type.
  Contents(const Argument& argument, std::uint64_t seed);

  std::size_t bytes() const { return bytes_; }

  /// Sets `part` to the bytes from `begin` on, which is that of an element.
  void read(std::size_t begin, std::span<std::uint8_t> part) const;

  /// Returns all bytes; nothing may be read afterwards.
  std::vector<std::uint8_t> take();

  /// Contents of a file or a definition, or what each element is.
  using Source = std::variant<std::vector<std::uint8_t>, Elements<double>, Elements<std::uint64_t>>;

 private:
  ScalarType type_;
  std::size_t bytes_;
  Source source_;
};

/// Returns the bytes of Contents(argument, seed).
std::vector<std::uint8_t> initial_contents(const Argument& argument, std::uint64_t seed);

/// Returns true if the argument has contents when a kernel begins; nothing is promised about the
/// contents of other arguments.
bool begins_with_contents(const Argument& argument);

/// Returns true if the argument's contents are found element by element, when they are read; false
/// if Contents has to read a file or to evaluate a definition first.
bool is_drawn(const Argument& argument);

/// Returns true if another seed gives the argument other contents.
bool depends_on_seed(const Argument& argument);

/// Returns the byte that fills an output before a checked run: as a floating-point type NaN, as an
/// integer a value that wrong results seldom have, unlike 0, -1 and the ends of a range.
constexpr std::uint8_t poison_byte(ScalarType type) {
  return type >= ScalarType::float8_e4m3 ? 0xFF : 0x5B;
}

/// Returns true if wrong elements that equal the poison were probably written after all. This holds
/// for narrow integers, which have so few values that wrong ones equal the poison by chance, as
/// long as such elements (`poisoned`) are few compared with the other wrong ones (`others`).
constexpr bool poison_by_chance(ScalarType type, std::uint64_t poisoned, std::uint64_t others) {
  return type <= ScalarType::uint16 && poisoned <= others / 16;
}

/// Returns the bytes of an argument as a kernel takes it: of a buffer its address.
using MemberBytes = std::function<std::span<const std::uint8_t>(const std::string& argument)>;

/// Returns the bytes of a struct that is made of other arguments.
std::vector<std::uint8_t> struct_bytes(const Argument& argument, const MemberBytes& of_member);

/// Returns the bytes of a scalar argument as a kernel takes it.
std::vector<std::uint8_t> scalar_bytes(const Argument& argument);

}  // namespace smemtune
