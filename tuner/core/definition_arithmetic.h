#pragma once

#include "tuner/core/definition_program.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

// The operations of a definition on whole numbers. They are inline so that loops over them can be
// vectorized.

namespace smemtune {

using expressions::calculated;
using expressions::holds;

/// Returns true if both numbers have 64 bits and are not negative: dividing them takes a fraction of
/// the time.
inline bool are_short(Whole left, Whole right) {
  return (static_cast<UnsignedWhole>(left | right) >> 64) == 0;
}

inline Whole quotient(Whole left, Whole right) {
  if (!are_short(left, right)) return left / right;
  return static_cast<std::uint64_t>(left) / static_cast<std::uint64_t>(right);
}

inline Whole remainder(Whole left, Whole right) {
  if (!are_short(left, right)) return left % right;
  return static_cast<std::uint64_t>(left) % static_cast<std::uint64_t>(right);
}

/// Computes an operation modulo 2^128. REQUIRES: `right` is not 0 for a division.
inline Whole calculated(expressions::Operation operation, Whole left, Whole right) {
  using Operation = expressions::Operation;
  const auto a = static_cast<UnsignedWhole>(left);
  const auto b = static_cast<UnsignedWhole>(right);
  switch (operation) {
    case Operation::negate:
      return static_cast<Whole>(-a);
    case Operation::absolute:
      return left < 0 ? static_cast<Whole>(-a) : left;
    case Operation::round_down:
      return left;
    case Operation::add:
      return static_cast<Whole>(a + b);
    case Operation::subtract:
      return static_cast<Whole>(a - b);
    case Operation::multiply:
      return static_cast<Whole>(a * b);
    case Operation::divide:
      return quotient(left, right) -
             (remainder(left, right) != 0 && (left < 0) != (right < 0) ? 1 : 0);
    case Operation::modulo:
      return remainder(left, right);
    case Operation::minimum:
      return std::min(left, right);
    default:
      return std::max(left, right);
  }
}

/// Divides the numbers by one, or takes their remainders, without a division for each if all have 32
/// bits and are not negative; else returns false and leaves them. The reciprocal with 64 binary
/// digits, rounded up, gives exact quotients of such numbers (Lemire, Kaser, Kurz 2019).
inline bool divided(bool takes_remainders, std::span<Whole> numbers, Whole divisor) {
  UnsignedWhole bits = static_cast<UnsignedWhole>(divisor);
  for (const Whole number : numbers) bits |= static_cast<UnsignedWhole>(number);
  if ((bits >> 32) != 0 || divisor < 2) return false;
  const auto by = static_cast<std::uint64_t>(divisor);
  const std::uint64_t reciprocal = UINT64_MAX / by + 1;
  for (Whole& number : numbers) {
    const auto from = static_cast<std::uint64_t>(number);
    const auto quotient =
        static_cast<std::uint64_t>((static_cast<UnsignedWhole>(reciprocal) * from) >> 64);
    number = static_cast<Whole>(takes_remainders ? from - quotient * by : quotient);
  }
  return true;
}

}  // namespace smemtune
