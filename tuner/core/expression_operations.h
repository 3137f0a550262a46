#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

// The operations of expressions on 64-bit integers and on reals, and of definitions. Used by the
// parsers, which fold constants, and by the evaluations.

namespace smemtune {
struct Token;
}

namespace smemtune::expressions {

enum class Operation : std::uint8_t {
  // Leaves; the last two only of definitions.
  constant,
  variable,
  scalar,
  element,
  // Operations with one operand.
  negate,
  complement,
  logical_not,
  truth,
  absolute,
  pow2,
  is_pow2,
  log2,
  to_real,
  to_integer,
  // Only of reals.
  square_root,
  exponential,
  logarithm,
  sine,
  cosine,
  tangent,
  hyperbolic_tangent,
  error_function,
  round_down,
  size_of,
  // Operations with two operands.
  add,
  subtract,
  multiply,
  divide,
  modulo,
  floor_divide,
  floor_modulo,
  power,
  shift_left,
  shift_right,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  bit_and,
  bit_or,
  bit_xor,
  minimum,
  maximum,
  ceil_divide,
  round_up,
  gcd,
  // From here on, operations that steer the evaluation.
  // Lazy operators: in the tree, and as jumps over the right operand in the code.
  logical_and,
  logical_or,
  // Only `conditional` occurs in the tree; the rest occur only in the code.
  conditional,
  copy,
  jump,
  jump_if_zero,
  // Only of definitions: loops over an index from 0 to below a bound.
  sum,
  largest,
  smallest,
};

// Flag of an operation on reals. The bits of reals lie where integers do.
constexpr auto kOfReals = std::uint8_t{0x40};
static_assert(static_cast<std::uint8_t>(Operation::smallest) < kOfReals);

constexpr bool is_of_reals(Operation operation) {
  return (static_cast<std::uint8_t>(operation) & kOfReals) != 0;
}
constexpr Operation of_reals(Operation operation) {
  return static_cast<Operation>(static_cast<std::uint8_t>(operation) | kOfReals);
}
constexpr Operation of_integers(Operation operation) {
  return static_cast<Operation>(static_cast<std::uint8_t>(operation) & ~kOfReals);
}

inline bool is_unary(Operation operation) {
  operation = of_integers(operation);
  return operation >= Operation::negate && operation <= Operation::size_of;
}

/// Returns whether an operation turns integers into reals.
inline bool gives_reals(Operation operation) {
  return operation == Operation::divide ||
         (operation >= Operation::square_root && operation <= Operation::round_down);
}

inline bool is_comparison(Operation operation) {
  operation = of_integers(operation);
  return operation >= Operation::less && operation <= Operation::not_equal;
}

inline bool is_bitwise(Operation operation) {
  return operation >= Operation::bit_and && operation <= Operation::bit_xor;
}

// Returns whether the result is 0 or 1 whatever the operands are.
inline bool is_boolean(Operation operation) {
  operation = of_integers(operation);
  return is_comparison(operation) || operation == Operation::logical_not ||
         operation == Operation::truth || operation == Operation::is_pow2 ||
         operation == Operation::logical_and || operation == Operation::logical_or;
}

struct Function {
  std::string_view name;
  Operation operation;
  std::size_t operands;  // 0 means one or more.
};

inline constexpr std::array<Function, 11> kFunctions = {{{"min", Operation::minimum, 0},
                                                         {"max", Operation::maximum, 0},
                                                         {"abs", Operation::absolute, 1},
                                                         {"ceil_div", Operation::ceil_divide, 2},
                                                         {"round_up", Operation::round_up, 2},
                                                         {"pow2", Operation::pow2, 1},
                                                         {"is_pow2", Operation::is_pow2, 1},
                                                         {"log2", Operation::log2, 1},
                                                         {"gcd", Operation::gcd, 2},
                                                         {"select", Operation::conditional, 3},
                                                         {"sizeof", Operation::size_of, 1}}};

// Functions of reals.
inline constexpr std::array<Function, 6> kRealFunctions = {{{"sqrt", Operation::square_root, 1},
                                                            {"exp", Operation::exponential, 1},
                                                            {"log", Operation::logarithm, 1},
                                                            {"sin", Operation::sine, 1},
                                                            {"cos", Operation::cosine, 1},
                                                            {"floor", Operation::round_down, 1}}};

struct BinaryOperator {
  std::string_view symbol;
  Operation operation;
  int level;  // Higher binds tighter.
};

inline constexpr int kNotLevel = 3;

// `**` is listed for messages only: it associates to the right and is parsed by a function of its
// own. floor_modulo is listed for the sake of its name, which is Python's.
inline constexpr std::array<BinaryOperator, 23> kBinaryOperators = {
    {{"||", Operation::logical_or, 1},    {"or", Operation::logical_or, 1},
     {"&&", Operation::logical_and, 2},   {"and", Operation::logical_and, 2},
     {"|", Operation::bit_or, 4},         {"^", Operation::bit_xor, 5},
     {"&", Operation::bit_and, 6},        {"==", Operation::equal, 7},
     {"!=", Operation::not_equal, 7},     {"<", Operation::less, 8},
     {"<=", Operation::less_equal, 8},    {">", Operation::greater, 8},
     {">=", Operation::greater_equal, 8}, {"<<", Operation::shift_left, 9},
     {">>", Operation::shift_right, 9},   {"+", Operation::add, 10},
     {"-", Operation::subtract, 10},      {"*", Operation::multiply, 11},
     {"/", Operation::divide, 11},        {"//", Operation::floor_divide, 11},
     {"%", Operation::modulo, 11},        {"%", Operation::floor_modulo, 11},
     {"**", Operation::power, 12}}};

/// Returns the operator that a token is; null if it is none.
const BinaryOperator* find_operator(const Token& token);

inline constexpr const char* kOverflow = "overflow";
inline constexpr const char* kDivisionByZero = "division by zero";

// Returns whether the operation also exists on reals.
bool takes_reals(Operation operation);

const char* power(std::int64_t base, std::int64_t exponent, std::int64_t& result);
const char* greatest_common_divisor(std::int64_t left, std::int64_t right, std::int64_t& result);

// Computes an operation in double precision. Operations with one operand use `left`. It is inline
// so that loops over it can be vectorized.
inline double calculated(Operation operation, double left, double right) {
  switch (operation) {
    case Operation::negate:
      return -left;
    case Operation::square_root:
      return std::sqrt(left);
    case Operation::exponential:
      return std::exp(left);
    case Operation::logarithm:
      return std::log(left);
    case Operation::absolute:
      return std::abs(left);
    case Operation::round_down:
      return std::floor(left);
    case Operation::sine:
      return std::sin(left);
    case Operation::cosine:
      return std::cos(left);
    case Operation::tangent:
      return std::tan(left);
    case Operation::hyperbolic_tangent:
      return std::tanh(left);
    case Operation::error_function:
      return std::erf(left);
    case Operation::power:
      return std::pow(left, right);
    case Operation::add:
      return left + right;
    case Operation::subtract:
      return left - right;
    case Operation::multiply:
      return left * right;
    case Operation::divide:
      return left / right;
    case Operation::modulo:
      return std::fmod(left, right);
    case Operation::minimum:
      return std::min(left, right);
    default:
      return std::max(left, right);
  }
}

inline bool holds(Operation comparison, const auto& left, const auto& right) {
  switch (comparison) {
    case Operation::less:
      return left < right;
    case Operation::less_equal:
      return left <= right;
    case Operation::greater:
      return left > right;
    case Operation::greater_equal:
      return left >= right;
    case Operation::equal:
      return left == right;
    default:
      return left != right;
  }
}

// Sets `result` and returns nullptr, or returns what is wrong with the operands. Operations with
// one operand use `left`.
inline const char* apply(Operation operation, std::int64_t left, std::int64_t right,
                         std::int64_t& result) {
  const auto give = [&result](std::int64_t value) -> const char* {
    result = value;
    return nullptr;
  };
  switch (operation) {
    case Operation::negate:
      return __builtin_sub_overflow(0, left, &result) ? kOverflow : nullptr;
    case Operation::complement:
      return give(~left);
    case Operation::logical_not:
      return give(left == 0);
    case Operation::truth:
      return give(left != 0);
    case Operation::absolute:
      if (left == std::numeric_limits<std::int64_t>::min()) return kOverflow;
      return give(left < 0 ? -left : left);
    case Operation::pow2:
      if (left < 0) return "the exponent is negative";
      return left > 62 ? kOverflow : give(std::int64_t{1} << left);
    case Operation::is_pow2:
      return give(left > 0 && (left & (left - 1)) == 0);
    case Operation::log2:
      if (left <= 0) return "the logarithm needs a positive number";
      return give(63 - std::countl_zero(static_cast<std::uint64_t>(left)));
    case Operation::to_real:
      return give(std::bit_cast<std::int64_t>(static_cast<double>(left)));
    case Operation::to_integer:
      return give(left);
    case Operation::size_of:
      result = left & 0xFF;
      return result == 0 ? "the word is not a type of known size" : nullptr;
    case Operation::add:
      return __builtin_add_overflow(left, right, &result) ? kOverflow : nullptr;
    case Operation::subtract:
      return __builtin_sub_overflow(left, right, &result) ? kOverflow : nullptr;
    case Operation::multiply:
      return __builtin_mul_overflow(left, right, &result) ? kOverflow : nullptr;
    case Operation::divide:
    case Operation::modulo:
    case Operation::floor_divide:
    case Operation::floor_modulo:
    case Operation::ceil_divide: {
      if (right == 0) return kDivisionByZero;
      if (left == std::numeric_limits<std::int64_t>::min() && right == -1) return kOverflow;
      const std::int64_t quotient = left / right;
      const std::int64_t rest = left % right;
      // Division rounded the quotient up.
      const bool below = rest != 0 && (rest < 0) != (right < 0);
      const bool above = rest != 0 && !below;  // Division rounded it down.
      return give(operation == Operation::divide         ? quotient
                  : operation == Operation::modulo       ? rest
                  : operation == Operation::floor_modulo ? rest + (below ? right : 0)
                  : operation == Operation::floor_divide ? quotient - (below ? 1 : 0)
                                                         : quotient + (above ? 1 : 0));
    }
    case Operation::round_up: {
      if (right <= 0) return "can only round up to a multiple of a positive number";
      std::int64_t rest = left % right;
      if (rest < 0) rest += right;
      if (rest == 0) return give(left);
      return __builtin_add_overflow(left, right - rest, &result) ? kOverflow : nullptr;
    }
    case Operation::power:
      return power(left, right, result);
    case Operation::shift_left:
      if (right < 0 || right > 62) return "the shift is not within 0 .. 62";
      return __builtin_mul_overflow(left, std::int64_t{1} << right, &result) ? kOverflow : nullptr;
    case Operation::shift_right:
      if (right < 0 || right > 62) return "the shift is not within 0 .. 62";
      return give(left >> right);
    case Operation::less:
    case Operation::less_equal:
    case Operation::greater:
    case Operation::greater_equal:
    case Operation::equal:
    case Operation::not_equal:
      return give(holds(operation, left, right));
    case Operation::bit_and:
      return give(left & right);
    case Operation::bit_or:
      return give(left | right);
    case Operation::bit_xor:
      return give(left ^ right);
    case Operation::minimum:
      return give(std::min(left, right));
    case Operation::maximum:
      return give(std::max(left, right));
    default:
      return greatest_common_divisor(left, right, result);
  }
}

// Applies an operation to reals, whose bits are passed as operands. The result is the bits of a
// real, except for comparisons.
const char* apply_to_reals(Operation operation, std::int64_t left_bits, std::int64_t right_bits,
                           std::int64_t& result);

inline const char* calculate(Operation operation, std::int64_t left, std::int64_t right,
                             std::int64_t& result) {
  return is_of_reals(operation) ? apply_to_reals(operation, left, right, result)
                                : apply(operation, left, right, result);
}

// Describes a fault: `overflow: 4 * 5`, `overflow: pow2(63)`.
std::string describe(const char* fault, Operation operation, std::int64_t left, std::int64_t right);

}  // namespace smemtune::expressions
