#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <optional>
#include <span>

// How far results may lie from what is expected.

namespace smemtune {

/// The tolerance that is used for a type when the space gives none, relative and absolute: 0 for
/// integers; 64 units in the last place of float and double (sums of a few dozen terms of order 1);
/// 4 of the 16-bit types, whose sums a kernel should hold in float. Spaces with longer sums say
/// their own.
Tolerance default_tolerance(ScalarType type);

/// `given`, or the type's default where nothing is given.
Tolerance tolerance_for(const Tolerance& given, ScalarType type);

/// How far an element may lie from `reference`. NaN where that is NaN.
double allowed_error(const Tolerance& tolerance, ScalarType type, double reference);

/// The sum of all elements.
double sum_of(std::span<const double> elements);

/// The sum of all elements, of integers modulo their type's range: as many partial sums as there
/// are, each of which wraps around, have the same.
struct Sum {
  double number = 0;
  std::uint64_t bits = 0;  ///< Of integers.
};
Sum sum_of(std::span<const std::uint8_t> bytes, ScalarType type);

/// How far two sums of elements of the type are apart.
double distance(const Sum& a, const Sum& b, ScalarType type);

/// Of a result of which the sum is compared: notes the errors in the report, and returns what is
/// wrong.
std::optional<Mismatch> wrong_sum(const Argument& argument, const Sum& sum, const Sum& expected,
                                  const Tolerance& tolerance, RunReport& report);

/// All digits of an element of an integer type; of a floating one nothing.
std::string exact_text(std::uint64_t bits, ScalarType type);

}  // namespace smemtune
