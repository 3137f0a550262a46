#pragma once

#include "tuner/core/value.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

// The elements of buffers, as numbers and as the bytes that a device has.

namespace smemtune {

/// Elements as doubles.
std::vector<double> to_doubles(std::span<const std::uint8_t> bytes, ScalarType type);

/// One value as an element of `type`: floating types round to nearest even, integer types to the
/// nearest integer that they have.
std::vector<std::uint8_t> encode(double value, ScalarType type);

/// The same of each.
std::vector<std::uint8_t> encode(std::span<const double> values, ScalarType type);

/// The same of `element(i)` for i from 0 to below `count`, on all cores where there is enough to
/// do.
std::vector<std::uint8_t> encode_each(std::uint64_t count, ScalarType type,
                                      const std::function<double(std::uint64_t)>& element);

/// Elements of an integer type whose bits are the low ones of `bits(i)`, likewise.
std::vector<std::uint8_t> encode_bits(std::uint64_t count, ScalarType type,
                                      const std::function<std::uint64_t(std::uint64_t)>& bits);

/// The bits of each element of an integer type.
std::vector<std::uint64_t> to_bits(std::span<const std::uint8_t> bytes, ScalarType type);

/// An integer as an element of an integer type; nullopt where it does not fit.
std::optional<std::vector<std::uint8_t>> encode_integer(std::int64_t value, ScalarType type);

/// How many integers from 0 on a type has without a gap, as far as doubles have none either.
std::uint64_t integers_from_zero(ScalarType type);

/// Digits of a floating type behind the binary point, and the exponent of its least normal number;
/// a unit in the last place of x is 2^(max(exponent of x, least) - digits). 0 and 0 for integers.
struct LastPlace {
  int digits = 0;
  int least_exponent = 0;
};
LastPlace last_place(ScalarType type);

}  // namespace smemtune
