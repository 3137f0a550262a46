#pragma once

#include "tuner/core/expression.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The tokens of expressions and definitions, shared by expression.cpp and definition.cpp.

namespace smemtune {

inline constexpr std::size_t kMaxCharacters = 4096;
inline constexpr std::size_t kMaxDepth = 64;
inline constexpr std::size_t kMaxNodes = 1000;

struct Token {
  enum class Kind { end, integer, real, name, quoted, symbol };
  Kind kind = Kind::end;
  std::string_view text;  ///< Text as written; for a quoted word, without the quotes.
  std::size_t column = 1;
  /// Value of an integer, up to 2^63 so that -9223372036854775808 can be written.
  std::uint64_t integer = 0;
  double real = 0;  ///< Value of an integer or real.

  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
};

/// Throws ExpressionError: `'TEXT' column COLUMN: MESSAGE` in one line. A long text is shortened.
[[noreturn]] void fail_at(std::string_view text, std::size_t column, const std::string& message);

/// The tokens of a text and how far they have been read. `and`, `or` and `not` are symbols.
class TokenStream {
 public:
  /// Splits `text` into tokens and keeps a view of it. Throws ExpressionError.
  explicit TokenStream(std::string_view text);

  std::string_view text() const { return text_; }
  const Token& peek(std::size_t ahead = 0) const;
  Token take();

  /// Takes the next token if it is this symbol, and returns whether it was.
  bool take_if(std::string_view symbol);

  /// Takes this symbol, or throws if the next token is another.
  void expect(std::string_view symbol);

  /// Throws unless everything was read.
  void expect_end() const;

  [[noreturn]] void fail(std::size_t column, const std::string& message) const;

 private:
  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
};

/// Counts the levels of a recursive parser. Throws ExpressionError beyond kMaxDepth.
class Nesting {
 public:
  Nesting(const TokenStream& tokens, std::size_t& depth);
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  std::size_t& depth_;
};

}  // namespace smemtune
