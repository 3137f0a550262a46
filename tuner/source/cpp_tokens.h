#pragma once

#include <cstddef>
#include <string>
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
  bool is_word() const { return kind == Kind::word; }
  bool is(std::string_view other) const { return text == other; }
  bool operator==(const CppToken&) const = default;
};

using CppTokens = std::vector<CppToken>;

/// Tokens `first` to `end` - 1.
struct TokenRange {
  std::size_t first = 0;
  std::size_t end = 0;

  bool empty() const { return first >= end; }
};

/// No place in a list of tokens.
inline constexpr std::size_t kNoToken = static_cast<std::size_t>(-1);

/// The tokens of any text whatever, without comments and byte order mark. `<` and `>` are always
/// single, so that templates can be told by counting them; what does not end (a comment, a string)
/// ends with the text, a string with its line.
CppTokens cpp_tokens(std::string_view text);

/// Whether it may stand in a name or a number. Bytes above 127 belong to names in UTF-8.
bool is_word_character(char c);

/// The text without byte order mark, with lines that a backslash joins put into one. The line ends
/// that this takes follow it, so that what begins a line is on the line where it was.
std::string joined_lines(std::string_view text);

/// Whether lexers agree on where each line of `joined` begins, in a comment, in a string or in
/// neither: no line with a quotation mark leaves open what began on it. g++ takes $ for a letter,
/// so that $R"( begins no raw string, and in what #if leaves out each lexer sees what it likes.
bool is_told_apart(std::string_view joined);

/// A preprocessor line, which may be several lines of text, as the preprocessor sees it: joined,
/// and with a blank for each comment.
std::string directive_line(std::string_view text);

/// Index of the token that closes the bracket at `open`, one of ( [ { <, or tokens.size() when none
/// does. Angle brackets count only outside the others, and end at a ; or {.
std::size_t closing(const CppTokens& tokens, std::size_t open);

/// Index of the token that opens what the one of ) ] } at `close` closes, or kNoToken.
std::size_t opening(const CppTokens& tokens, std::size_t close);

/// Index of the < that belongs to the > at `close`, not before `first`, or kNoToken.
std::size_t opening_angle(const CppTokens& tokens, std::size_t close, std::size_t first);

/// The parts of a range that commas outside brackets separate.
std::vector<TokenRange> split(const CppTokens& tokens, TokenRange range);

/// The text of a range, with single blanks where the source has any.
std::string joined(const CppTokens& tokens, TokenRange range);

std::vector<std::string> texts(const CppTokens& tokens, const std::vector<TokenRange>& ranges);

/// The identifiers of a text, in order.
std::vector<std::string_view> identifiers(std::string_view text);

}  // namespace smemtune
