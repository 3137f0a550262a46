#include "tuner/core/expression_operations.h"

#include "tuner/core/text.h"
#include "tuner/core/tokens.h"

#include <cmath>
#include <numeric>

namespace smemtune::expressions {

namespace {

// Floating-point arithmetic as Python defines it. REQUIRES: no divisor is 0.

/// Computes `left % right`, which has the divisor's sign.
double python_modulo(double left, double right) {
  const double rest = std::fmod(left, right);
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

/// Computes `left // right`.
double python_floor_divide(double left, double right) {
  const double quotient = (left - python_modulo(left, right)) / right;
  const double below = std::floor(quotient);
  return quotient - below > 0.5 ? below + 1 : below;
}

}  // namespace

bool takes_reals(Operation operation) {
  switch (operation) {
    case Operation::negate:
    case Operation::logical_not:
    case Operation::truth:
    case Operation::absolute:
    case Operation::to_integer:
    case Operation::square_root:
    case Operation::exponential:
    case Operation::logarithm:
    case Operation::sine:
    case Operation::cosine:
    case Operation::round_down:
    case Operation::add:
    case Operation::subtract:
    case Operation::multiply:
    case Operation::divide:
    case Operation::modulo:
    case Operation::floor_divide:
    case Operation::floor_modulo:
    case Operation::power:
    case Operation::minimum:
    case Operation::maximum:
      return true;
    default:
      return is_comparison(operation);
  }
}

const BinaryOperator* find_operator(const Token& token) {
  const auto found = std::ranges::find_if(
      kBinaryOperators, [&](const BinaryOperator& one) { return token.is(one.symbol); });
  return found == kBinaryOperators.end() ? nullptr : &*found;
}

const char* power(std::int64_t base, std::int64_t exponent, std::int64_t& result) {
  if (exponent < 0) return "the exponent is negative";
  result = 1;
  while (true) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return kOverflow;
    exponent >>= 1;
    if (exponent == 0) return nullptr;
    if (__builtin_mul_overflow(base, base, &base)) return kOverflow;
  }
}

const char* greatest_common_divisor(std::int64_t left, std::int64_t right, std::int64_t& result) {
  const auto magnitude = [](std::int64_t x) {
    return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  };
  const std::uint64_t divisor = std::gcd(magnitude(left), magnitude(right));
  if (divisor > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return kOverflow;
  }
  result = static_cast<std::int64_t>(divisor);
  return nullptr;
}

const char* apply_to_reals(Operation operation, std::int64_t left_bits, std::int64_t right_bits,
                           std::int64_t& result) {
  const auto left = std::bit_cast<double>(left_bits);
  const auto right = std::bit_cast<double>(right_bits);
  const auto give = [&result](double value) {
    result = std::bit_cast<std::int64_t>(value);
    return std::isfinite(value) ? nullptr : kOverflow;
  };
  operation = of_integers(operation);
  // Operations whose result is 0 or 1 are computed from the sign of the difference. No real is NaN.
  if (is_boolean(operation)) {
    return apply(operation, is_unary(operation) ? left != 0 : (left > right) - (left < right), 0,
                 result);
  }
  if (operation == Operation::to_integer) {
    if (!(std::abs(left) < 0x1p63)) return kOverflow;
    result = static_cast<std::int64_t>(left);
    return nullptr;
  }
  if (operation == Operation::square_root && left < 0) {
    return "the square root of a negative number";
  }
  if (operation == Operation::logarithm && !(left > 0)) {
    return "the logarithm needs a positive number";
  }
  const bool divides = operation >= Operation::divide && operation <= Operation::floor_modulo;
  if (divides && right == 0) return kDivisionByZero;
  if (operation == Operation::floor_divide) return give(python_floor_divide(left, right));
  if (operation == Operation::floor_modulo) return give(python_modulo(left, right));
  return give(calculated(operation, left, right));
}

namespace {

std::string real_text(std::int64_t bits) { return significant(std::bit_cast<double>(bits), 6); }

}  // namespace

std::string describe(const char* fault, Operation operation, std::int64_t left,
                     std::int64_t right) {
  const bool reals = is_of_reals(operation);
  operation = of_integers(operation);
  const std::string a = reals ? real_text(left) : std::to_string(left);
  const std::string b = reals ? real_text(right) : std::to_string(right);
  const std::string begin = std::string(fault) + ": ";
  if (operation == Operation::size_of) return fault;  // The letters of the word are not known.
  if (operation == Operation::negate) return begin + "-(" + a + ")";
  for (const BinaryOperator& known : kBinaryOperators) {
    if (known.operation == operation) return begin + a + " " + std::string(known.symbol) + " " + b;
  }
  const auto call = [&](std::string_view name) {
    return begin + std::string(name) + "(" + a + (is_unary(operation) ? "" : ", " + b) + ")";
  };
  for (const Function& known : kFunctions) {
    if (known.operation == operation) return call(known.name);
  }
  for (const Function& known : kRealFunctions) {
    if (known.operation == operation) return call(known.name);
  }
  return fault;
}

}  // namespace smemtune::expressions
