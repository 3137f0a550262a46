#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace smemtune {

/// A token of C++ or CUDA, as far as declarations need it told from others. A preprocessor line is
/// one token, with the lines that a backslash joins to it.
struct CppToken {
  enum class Kind { word, number, literal, symbol, directive };
  Kind kind = Kind::symbol;
  std::string_view text;  ///< As written; of the text that was given.
  std::size_t begin = 0;  ///< Its place in that text.
  std::size_t line = 1;   ///< From 1; of its first character.

  std::size_t end() const { return begin + text.size(); }
  bool is(std::string_view other) const { return text == other; }
  bool operator==(const CppToken&) const = default;
};

/// The tokens of any text whatever, without comments. `<` and `>` are always single, so that
/// templates can be told by counting them; what does not end (a comment, a string) ends with the
/// text, a string with its line.
std::vector<CppToken> cpp_tokens(std::string_view text);

/// Index of the token that closes the bracket at `open`, one of ( [ { <, or tokens.size() when none
/// does. Angle brackets count only outside the others, and end at a ; or {.
std::size_t closing(const std::vector<CppToken>& tokens, std::size_t open);

}  // namespace smemtune
