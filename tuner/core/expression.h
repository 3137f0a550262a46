#pragma once

#include "tuner/core/error.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// A text that is not an expression, or one that has no value: an unknown name (with the nearest
/// known one), an overflow, a division by zero. The message quotes the text and marks the column.
class ExpressionError : public InputError {
 public:
  using InputError::InputError;
};

/// What the names of an expression stand for. A name is either a constant or a variable.
class Scope {
 public:
  /// `name` is read from `slots[slot]` when the expression is evaluated. `kind` tells whether it
  /// stands for integers or for words, so that `T + 1` is refused when compiled.
  enum class Kind { integer, word };
  void add_variable(std::string name, std::size_t slot, Kind kind = Kind::integer);

  /// `name` is known when the expression is compiled.
  void add_constant(std::string name, Value value);
  void add_constants(const Bindings& bindings);

  /// Whether `name` is taken.
  bool contains(std::string_view name) const;

 private:
  friend class ExpressionParser;
  struct Entry {
    bool is_variable = false;
    Kind kind = Kind::integer;
    std::size_t slot = 0;
    Value constant;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

/// How a value lies in a slot: an integer as itself, a word as a hash of its letters (so equal
/// words are equal numbers in every process).
std::int64_t to_slot(const Value& value);

/// An integer expression over named values, compiled once and evaluated often.
///
///   ?: || && | ^ & == != < <= > >= << >> + - * / % ! ~ -  and the words `and or not`
///   min max abs ceil_div round_up pow2 is_pow2 log2 gcd select sizeof(TYPE)
///
/// 64-bit signed integers; comparisons and booleans are 0 and 1; division truncates as in C++. `==`
/// and `!=` also compare words with type names or word names. Overflow, division by zero and shifts
/// out of range throw ExpressionError. && || ?: and select do not evaluate what they do not need.
/// A text is at most 4096 characters, 64 levels deep and 1000 nodes.
class Expression {
 public:
  /// Throws ExpressionError.
  static Expression compile(std::string_view text, const Scope& scope);

  /// slots[i] is the value of the variable that was added with slot i. Throws ExpressionError.
  std::int64_t evaluate(std::span<const std::int64_t> slots = {}) const;

  /// Slots of the variables that the expression reads, ascending, each once. Empty: a constant.
  const std::vector<std::size_t>& variables() const { return variables_; }

  const std::string& text() const { return text_; }

 private:
  friend class ExpressionParser;
  struct Instruction {
    std::int32_t operation = 0;
    std::int32_t column = 0;  ///< Of the operator in the text, for messages.
    std::int64_t operand = 0;
  };
  std::string text_;
  std::vector<Instruction> code_;
  std::vector<std::size_t> variables_;
  std::size_t stack_depth_ = 0;
};

/// The name in `known` that `name` was probably meant to be (edit distance at most a third of its
/// length), or an empty string.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

}  // namespace smemtune
