#pragma once

#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

class TokenStream;
struct Token;

/// Thrown for a text that is not an expression, or that has no value: an unknown name (with the
/// nearest known one), an overflow, a division by zero. The message quotes the text and marks the
/// column.
class ExpressionError : public InputError {
 public:
  using InputError::InputError;
};

/// The names that an expression may use, and what each stands for: a constant or a variable. Adding
/// a name that is taken throws InputError.
class Scope {
 public:
  /// Adds a name that is read from `slots[slot]` when the expression is evaluated. `kind` tells
  /// whether it stands for integers or for words, so that `T + 1` is refused at compile time, or
  /// for numbers in double precision, whose bits lie in the slot.
  enum class Kind { integer, word, real };
  void add_variable(std::string name, std::size_t slot, Kind kind = Kind::integer);

  /// Adds a name whose value is known when the expression is compiled.
  void add_constant(std::string name, Value value);
  void add_constants(const Bindings& bindings);

  /// Returns whether `name` is taken.
  bool contains(std::string_view name) const;

  std::vector<std::string> names() const;

 private:
  friend class ExpressionParser;
  struct Entry {
    bool is_variable = false;
    Kind kind = Kind::integer;
    std::int64_t value = 0;  ///< Value of a constant, as it lies in a slot; slot of a variable.
  };
  void add(std::string name, const Entry& entry);
  std::map<std::string, Entry, std::less<>> entries_;
};

/// Returns how a value lies in a slot: an integer as itself; a word as a hash of its letters (so
/// equal words are equal numbers in every process) above eight bits that hold the size in bytes of
/// the type that the word names, or 0.
std::int64_t to_slot(const Value& value);

/// An integer expression over named values, compiled once and evaluated often.
///
///   ?: || && | ^ & == != < <= > >= << >> + - * / % ! ~ -  and the words `and or not`
///   min max abs ceil_div round_up pow2 is_pow2 log2 gcd select sizeof(TYPE)
///
/// Values are 64-bit signed integers; comparisons and booleans are 0 and 1; division truncates as
/// in C++. `==` and `!=` also compare words with type names, word names and quoted words. Overflow,
/// division by zero and shifts out of range throw ExpressionError, at compile time if every
/// evaluation would throw. && || ?: and select do not evaluate operands that they do not need. A
/// text has at most 4096 characters, 64 levels and 1000 nodes.
///
/// Some spellings of other tuners are understood: `//` divides and rounds down, `**` is the power
/// and binds tighter than a sign before it, `not` binds less tightly than comparisons, `True` and
/// `False` are 1 and 0. Texts that C++ and Python read differently need parentheses: `a < b < c`,
/// `a & b == c`.
class Expression {
 public:
  /// Compiles `text`. Throws ExpressionError.
  static Expression compile(std::string_view text, const Scope& scope);

  /// Reads the indices of the array element whose name is given, and returns the slot that will
  /// hold its value.
  using ElementReader = std::function<std::size_t(const Token& name)>;

  /// Compiles the expression at which `tokens` (tokens.h) stand, and leaves them behind it.
  /// `read_element` is called behind a name before `[`; without it there are no elements. Throws
  /// ExpressionError.
  static Expression compile(TokenStream& tokens, const Scope& scope,
                            const ElementReader& read_element = {});

  /// Compiles `text` in double precision: `/` gives a fraction, numbers may have a decimal point,
  /// and there are sqrt exp log sin cos floor. Throws ExpressionError.
  static Expression compile_real(std::string_view text, const Scope& scope);

  /// Returns the value. slots[i] is the value of the variable that was added with slot i. Throws
  /// ExpressionError. REQUIRES: slots holds every slot of variables().
  std::int64_t evaluate(std::span<const std::int64_t> slots = {}) const;

  /// Returns the value of an expression that compile_real() returned.
  double evaluate_real(std::span<const std::int64_t> slots = {}) const;

  /// Returns the slots of the variables that the expression reads, ascending, each once; empty for
  /// a constant.
  const std::vector<std::size_t>& variables() const { return variables_; }

  const std::string& text() const { return text_; }

  /// Returns true if the value is a x + b for the value x of that slot, where a and b depend on other
  /// slots only. May return false where it is.
  bool is_affine_in(std::size_t slot) const;

 private:
  friend class ExpressionParser;
  // Values lie in three arrays: temporaries, the slots and constants_.
  enum class Place : std::uint8_t { temporary, slot, constant };
  struct Operand {
    Place place = Place::temporary;
    std::uint32_t index = 0;
  };
  struct Instruction {
    std::uint8_t operation = 0;
    Place left_place = Place::temporary;
    Place right_place = Place::temporary;
    std::uint16_t column = 0;  ///< Column of the operator in the text, for messages.
    std::uint16_t result = 0;  ///< Temporary that receives the result.
    std::uint32_t left = 0;
    std::uint32_t right = 0;  ///< For a jump: the instruction to jump to.
  };
  [[noreturn]] void fail(const Instruction& instruction, const char* fault, std::int64_t left,
                         std::int64_t right) const;
  std::string text_;
  std::vector<Instruction> code_;  ///< Instructions that leave the value in temporary 0.
  std::vector<std::int64_t> constants_;
  std::vector<std::size_t> variables_;
};

/// Returns the sizes in bytes of the types that CUDA C++ has names for, including vector types such as
/// `float4`.
const std::map<std::string, std::size_t, std::less<>>& type_sizes();

/// Returns the size of the type in bytes; nullopt for an unknown name.
std::optional<std::size_t> type_size(std::string_view name);

}  // namespace smemtune
