#pragma once

#include "tuner/core/value.h"

#include <cstdint>

// Exact arithmetic on integers of any scalar type.

namespace smemtune {

/// An integer that holds every value of every integer type, and their sums and products modulo
/// 2^128.
__extension__ using Whole = __int128;
__extension__ using UnsignedWhole = unsigned __int128;

constexpr bool is_signed_integer(ScalarType type) {
  return type == ScalarType::int8 || type == ScalarType::int16 || type == ScalarType::int32 ||
         type == ScalarType::int64;
}

/// Returns whether there are values of the type that doubles cannot hold.
constexpr bool is_wide_integer(ScalarType type) {
  return type == ScalarType::int64 || type == ScalarType::uint64;
}

/// Returns the bits of `value` as an element of an integer type, which keeps the low ones.
inline std::uint64_t bits_of(Whole value, ScalarType type) {
  const auto bits = static_cast<std::uint64_t>(static_cast<UnsignedWhole>(value));
  const std::size_t width = 8 * size_of(type);
  return width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
}

/// Returns the integer that has these bits.
inline Whole whole_of(std::uint64_t bits, ScalarType type) {
  if (!is_signed_integer(type)) return static_cast<Whole>(bits);
  const std::size_t unused = 64 - 8 * size_of(type);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

/// The ends of an integer type's range.
inline Whole lowest_of(ScalarType type) {
  return is_signed_integer(type) ? -(static_cast<Whole>(1) << (8 * size_of(type) - 1)) : 0;
}
inline Whole highest_of(ScalarType type) {
  return lowest_of(type) + ((static_cast<Whole>(1) << (8 * size_of(type))) - 1);
}

/// Returns how far two integers of the type are apart; 0 only for equal ones.
inline double distance(std::uint64_t a, std::uint64_t b, ScalarType type) {
  const Whole difference = whole_of(a, type) - whole_of(b, type);
  return static_cast<double>(difference < 0 ? -difference : difference);
}

}  // namespace smemtune
