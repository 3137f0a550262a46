#pragma once

#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <vector>

namespace smemtune {

/// Bytes of a buffer as its `init` gives them: the same for the same argument and seed on every
/// machine and device. Integer types round uniform() and normal() to the nearest integer; iota
/// begins again at 0 where the type cannot count on. Arguments of other names differ. Where
/// Init::is_spread, random elements keep to the range of the others but are as often small as
/// large: they lie at distances of every order of magnitude from 0, or from the end of the range
/// that is nearest to it, on both sides where there are two. Integers then reach 0 and both ends;
/// floating elements reach no end that others do not, and no 0, as kernels may divide by them; those
/// of normal() lie within three deviations. Throws InputError for a file that cannot be read or has another shape or type. An argument that begins
/// as another type has that one's elements, converted.
std::vector<std::uint8_t> initial_contents(const Argument& argument, std::uint64_t seed);

/// Whether it has contents when a kernel begins; nothing is promised of others.
bool begins_with_contents(const Argument& argument);

/// What every byte of an output is before a checked run: as a floating type NaN, as an integer what
/// wrong results seldom are, unlike 0, -1 and the ends of a range.
constexpr std::uint8_t poison_byte(ScalarType type) {
  return type >= ScalarType::float8_e4m3 ? 0xFF : 0x5B;
}

/// Whether wrong elements that look like poison were rather written, of a narrow integer that has
/// so few values that wrong ones are the poison by chance: they are few beside those that do not.
constexpr bool poison_by_chance(ScalarType type, std::uint64_t poisoned, std::uint64_t others) {
  return type <= ScalarType::uint16 && poisoned <= others / 16;
}

/// The bytes of a scalar argument as a kernel takes it.
std::vector<std::uint8_t> scalar_bytes(const Argument& argument);

}  // namespace smemtune
