#pragma once

#include <cmath>

// Floating-point arithmetic as Python defines it. REQUIRES: no divisor is 0.

namespace smemtune {

/// Computes `left % right`, which has the divisor's sign.
inline double python_modulo(double left, double right) {
  const double rest = std::fmod(left, right);
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

/// Computes `left // right`.
inline double python_floor_divide(double left, double right) {
  const double quotient = (left - python_modulo(left, right)) / right;
  const double below = std::floor(quotient);
  return quotient - below > 0.5 ? below + 1 : below;
}

}  // namespace smemtune
