#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Text for people, and what keeps text from somewhere from steering their terminals.

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

/// Without its end; all of it where it has one line.
std::string first_line(std::string_view text);

/// In one line: a space for a line's end or a tab; `?` for what moves the cursor, colors or turns
/// the direction of writing (C0, C1, bidirectional marks), and for bytes that are not UTF-8. What
/// goes beyond `max_bytes` becomes `...`.
std::string printable(std::string_view text, std::size_t max_bytes = std::string_view::npos);

/// The same with its lines and tabs.
std::string printable_lines(std::string_view text);

/// JSON in which what printable() takes away stands as `\u202e`. REQUIRES: valid JSON in UTF-8,
/// without control characters between its values other than line ends.
std::string with_controls_escaped(std::string_view json);

/// `'text'`, printable.
std::string quote(std::string_view text, std::size_t max_bytes = 80);

/// The same, however long it is.
std::string in_quotes(std::string_view text);

/// The fewest digits that give this number again: `0.1`, `1e+20`.
std::string shortest(double number);

/// With so many digits behind the point.
std::string decimal(double value, int digits);

/// With at most so many digits, without zeros at the end: `0.25`, `1.5e+07`.
std::string significant(double value, int digits);

/// `1,234,567`.
std::string format_count(std::uint64_t count);

/// `1 kernel`, `3,000 kernels`.
std::string counted(std::uint64_t count, const std::string& noun);

std::string joined(std::span<const std::string> words, std::string_view separator);

/// What `of` makes of each.
template <typename Range, typename Of>
std::string joined(const Range& range, std::string_view separator, const Of& of) {
  std::string text;
  for (const auto& one : range) {
    if (!text.empty()) text += separator;
    text += std::invoke(of, one);
  }
  return text;
}

/// The name of `known` that was probably meant, by edit distance (case ignored); empty when none is
/// near.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

/// `; did you mean 'ITEMS'?` when nearest_name() knows one, else nothing: to end a message.
std::string suggestion(std::string_view name, std::span<const std::string> known);

}  // namespace smemtune
