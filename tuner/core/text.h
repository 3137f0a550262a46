#pragma once

#include <string>
#include <string_view>

namespace smemtune {

// Letters as ASCII has them: the locale must not decide what a letter is.

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// `TILE_N`: a letter or underscore, then these and digits.
bool is_name(std::string_view text);

/// `cuda::std::int32_t`: names with `::` between them.
bool is_qualified_name(std::string_view text);

/// Without the white space at both ends.
std::string trimmed(std::string_view text);

/// `'text'`, with spaces instead of control characters. (A literal + std::string trips g++ 12's
/// -Wrestrict.)
std::string in_quotes(std::string_view text);

/// The fewest digits that give this number again: `0.1`, `1e+20`.
std::string shortest(double number);

}  // namespace smemtune
