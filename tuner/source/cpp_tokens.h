#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// Returns true if a text is one of some words.
constexpr bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

/// A token of C++ or CUDA, as detailed as the reading of declarations needs. A preprocessor line is
/// one token, with the lines that a backslash joins to it.
struct CppToken {
  enum class Kind { word, number, literal, symbol, directive };
  Kind kind = Kind::symbol;
  std::string_view text;  ///< Its text as written; refers to the text that was read.
  std::size_t begin = 0;  ///< Offset in that text.
  std::size_t line = 1;   ///< Line of its first character, from 1.

  std::size_t end() const { return begin + text.size(); }
  bool is_word() const { return kind == Kind::word; }
  /// Returns true if it is one of these texts.
  template <typename... Texts>
  bool is(const Texts&... others) const {
    return ((text == others) || ...);
  }
  bool operator==(const CppToken&) const = default;
};

using CppTokens = std::vector<CppToken>;

/// Tokens `first` to `end` - 1.
struct TokenRange {
  std::size_t first = 0;
  std::size_t end = 0;

  bool empty() const { return first >= end; }
};

/// Stands for no place in a list of tokens.
inline constexpr std::size_t kNoToken = static_cast<std::size_t>(-1);

/// Returns the tokens of any text, without comments and byte order mark. `<` and `>` are always
/// single, so that templates can be told by counting them; a comment that does not end, ends with
/// the text, and a string with its line.
CppTokens cpp_tokens(std::string_view text);

/// Rejects a temporary string, whose text the tokens would outlive.
template <std::same_as<std::string> Text>
CppTokens cpp_tokens(Text&& text) = delete;

/// Returns true if the character may stand in a name or a number. Bytes above 127 belong to names
/// in UTF-8.
bool is_word_character(char c);

/// Returns the text without byte order mark, with lines that a backslash joins put into one. The
/// removed line ends follow the joined line, so that later lines keep their numbers.
std::string joined_lines(std::string_view text);

/// Returns true if lexers agree whether each line of `joined` begins in a comment, in a string or
/// in neither: on no line with a quotation mark does a comment or string stay open. g++ takes $ for
/// a letter, so that $R"( begins no raw string, and in text that #if leaves out lexers differ.
bool is_told_apart(std::string_view joined);

/// Returns a preprocessor line, which may be several lines of text, as the preprocessor sees it:
/// joined, and with a blank for each comment.
std::string directive_line(std::string_view text);

/// Returns the index of the token that closes the bracket at `open`, one of ( [ { <, or
/// tokens.size() if none does. Angle brackets count only outside the others, and end at a ; or {.
std::size_t closing(const CppTokens& tokens, std::size_t open);

/// Returns the index of the token that opens the bracket that `close`, one of ) ] }, closes, or
/// kNoToken.
std::size_t opening(const CppTokens& tokens, std::size_t close);

/// Returns the index of the < that belongs to the > at `close`, not before `first`, or kNoToken.
std::size_t opening_angle(const CppTokens& tokens, std::size_t close, std::size_t first);

/// Returns the parts of a range that commas outside brackets separate.
std::vector<TokenRange> split(const CppTokens& tokens, TokenRange range);

/// Returns the text of a range, with a single blank where the source has blanks, and with 1000 for
/// 1'000.
std::string joined(const CppTokens& tokens, TokenRange range);

std::vector<std::string> texts(const CppTokens& tokens, const std::vector<TokenRange>& ranges);

/// Replaces the characters `first` to `end` - 1 by blanks, except for line ends.
void blank(std::string& text, std::size_t first, std::size_t end);

/// Returns the identifiers of a text, in order.
std::vector<std::string_view> identifiers(std::string_view text);

/// Rejects a temporary string, whose text the identifiers would outlive.
template <std::same_as<std::string> Text>
std::vector<std::string_view> identifiers(Text&& text) = delete;

}  // namespace smemtune
