#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace smemtune {

/// Bytes of a buffer as its `init` gives them: the same for the same argument and seed on every
/// machine and device. Integer types round uniform() and normal() to the nearest integer; iota
/// begins again at 0 where the type cannot count on. Arguments of other names differ. Throws
/// InputError for a file that cannot be read or has another shape or type. An argument that begins
/// as another type has that one's elements, converted.
std::vector<std::uint8_t> initial_contents(const Argument& argument, std::uint64_t seed);

/// Elements as doubles.
std::vector<double> to_doubles(std::span<const std::uint8_t> bytes, ScalarType type);

/// One value as an element of `type`, rounded to nearest even for floating types.
std::vector<std::uint8_t> encode(double value, ScalarType type);

/// The same of each.
std::vector<std::uint8_t> encode(std::span<const double> values, ScalarType type);

/// The bytes of a scalar argument as a kernel takes it.
std::vector<std::uint8_t> scalar_bytes(const Argument& argument);

/// The sum of all elements.
double sum_of(std::span<const std::uint8_t> bytes, ScalarType type);
double sum_of(std::span<const double> elements);

/// The tolerance that is used for a type when the space gives none, relative and absolute: 0 for
/// integers; 64 units in the last place of float and double (sums of a few dozen terms of order 1);
/// 4 of the 16-bit types, whose sums a kernel should hold in float. Spaces with longer sums say
/// their own.
Tolerance default_tolerance(ScalarType type);

/// `given`, or the type's default where nothing is given.
Tolerance tolerance_for(const Tolerance& given, ScalarType type);

/// How far an element may lie from `reference`. Not a number for a reference that is none.
double allowed_error(const Tolerance& tolerance, ScalarType type, double reference);

/// Of a result of which the sum is compared: notes the errors in the report, and returns what is
/// wrong.
std::optional<Mismatch> wrong_sum(const Argument& argument, double sum, double expected,
                                  const Tolerance& tolerance, RunReport& report);

/// Digits of a floating type behind the binary point, and the exponent of its least normal number;
/// a unit in the last place of x is 2^(max(exponent of x, least) - digits). 0 and 0 for integers.
struct LastPlace {
  int digits = 0;
  int least_exponent = 0;
};
LastPlace last_place(ScalarType type);

}  // namespace smemtune
