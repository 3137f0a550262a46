#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <optional>
#include <span>

// How far results may deviate from what is expected.

namespace smemtune {

/// Returns the tolerance that a type has when the space gives none, relative and absolute: 0 for
/// integers; 64 units in the last place for float and double (sums of a few dozen terms of order
/// 1); 4 units for the 16-bit types, whose sums a kernel should hold in float. Spaces with longer
/// sums give their own.
Tolerance default_tolerance(ScalarType type);

/// Returns `given`, or the type's default if nothing is given.
Tolerance tolerance_for(const Tolerance& given, ScalarType type);

/// Returns how far an element may deviate from `reference`; NaN if the reference is NaN.
double allowed_error(const Tolerance& tolerance, ScalarType type, double reference);

/// Returns true if a number that was computed agrees with the expected one, whatever their distance:
/// equal infinities do, and two NaNs where `nan_agrees`.
bool agrees_beyond_numbers(double value, double expected, bool nan_agrees);

/// Returns true if `a` stands before `b` in ascending order; NaN stands last.
bool is_before(double a, double b);

/// Notes an error that was seen, if it is finite.
void note_error(double error, double expected, RunReport& report);

/// Returns the sum of all elements.
double sum_of(std::span<const double> elements);

/// The sum of all elements. Sums of integers are modulo their type's range, so that partial sums
/// that wrap around have the same total, whatever their number.
struct Sum {
  double number = 0;
  std::uint64_t bits = 0;  ///< The sum of integers.
};
Sum sum_of(std::span<const std::uint8_t> bytes, ScalarType type);

/// Returns the distance between two sums of elements of the type.
double distance(const Sum& a, const Sum& b, ScalarType type);

/// Checks a result of which the sum is compared: notes the errors in the report, and returns the
/// mismatch if there is one.
std::optional<Mismatch> wrong_sum(const Argument& argument, const Sum& sum, const Sum& expected,
                                  const Tolerance& tolerance, RunReport& report);

/// Checks a result whose elements are compared in ascending order, likewise. The index of the
/// mismatch is that of this order.
std::optional<Mismatch> wrong_sorted(const Argument& argument, std::span<const std::uint8_t> bytes,
                                     std::span<const std::uint8_t> expected,
                                     const Tolerance& tolerance, RunReport& report);

/// Returns all digits of an element of an integer type; empty for a floating-point type.
std::string exact_text(std::uint64_t bits, ScalarType type);

}  // namespace smemtune
