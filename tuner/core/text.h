#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

// Text for people, and protection of their terminals against control characters in foreign text.

namespace smemtune {

// ASCII letters: the locale must not decide what a letter is.

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Returns whether `text` is a name such as `TILE_N`: a letter or underscore, then letters,
/// underscores and digits.
bool is_name(std::string_view text);

/// Returns whether `text` consists of names with `::` between them: `cuda::std::int32_t`.
bool is_qualified_name(std::string_view text);

/// Returns the text without the white space at both ends.
std::string trimmed(std::string_view text);

/// Returns the first line without its end; the whole text if it has one line.
std::string first_line(std::string_view text);

/// Returns the text in one line: line ends and tabs become spaces; characters that move the cursor,
/// colors or turn the direction of writing (C0, C1, bidirectional marks) and bytes that are not
/// UTF-8 become `?`. Text beyond `max_bytes` becomes `...`.
std::string printable(std::string_view text, std::size_t max_bytes = std::string_view::npos);

/// Returns the text as printable() does, but keeps its lines and tabs.
std::string printable_lines(std::string_view text);

/// Returns JSON in which the characters that printable() replaces are written as escapes such as
/// `\u202e`. REQUIRES: valid JSON in UTF-8, without control characters between its values other
/// than line ends.
std::string with_controls_escaped(std::string_view json);

/// Returns the printable text in quotes: `'text'`.
std::string quote(std::string_view text, std::size_t max_bytes = 80);

/// Returns the printable text in quotes, however long it is.
std::string in_quotes(std::string_view text);

/// Formats a number with the fewest digits that give it again when read: `0.1`, `1e+20`.
std::string shortest(double number);

/// Formats a number with `digits` digits behind the point.
std::string decimal(double value, int digits);

/// Formats a number with at most `digits` digits, without trailing zeros: `0.25`, `1.5e+07`.
std::string significant(double value, int digits);

/// Returns `number` with the digits that tell it apart from `other`: 9, which are enough for any
/// float, or the 17 of a double.
std::string told_apart(double number, double other);

/// Formats a count with separators: `1,234,567`.
std::string format_count(std::uint64_t count);

/// Formats a count with its noun: `1 kernel`, `3,000 kernels`.
std::string counted(std::uint64_t count, const std::string& noun);

/// Returns whether `one` comes before `other` where numbers in texts are compared as numbers:
/// `N=512` before `N=1024`.
bool in_natural_order(const std::string& one, const std::string& other);

/// Returns the parts of a text between separators, empty ones too.
std::vector<std::string> split(std::string_view text, char separator);

std::string joined(std::span<const std::string> words, std::string_view separator);

/// Returns the texts that `of` gives of the elements.
template <typename Range, typename Of>
std::vector<std::string> texts_of(const Range& range, const Of& of) {
  std::vector<std::string> texts;
  for (const auto& one : range) texts.emplace_back(std::invoke(of, one));
  return texts;
}

/// Joins what `of` returns for each element.
template <typename Range, typename Of>
std::string joined(const Range& range, std::string_view separator, const Of& of) {
  std::string text;
  for (const auto& one : range) {
    if (!text.empty()) text += separator;
    text += std::invoke(of, one);
  }
  return text;
}

/// Returns the name of `known` that was probably meant, by edit distance (case ignored); empty if
/// none is near.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

/// Returns `; did you mean 'ITEMS'?`, to end a message, if nearest_name() finds a name; otherwise
/// nothing.
std::string suggestion(std::string_view name, std::span<const std::string> known);

/// Returns the number that all of the text is, without blanks or a plus; nullopt for other texts and
/// for numbers that the type cannot hold. `base...`: that of a whole number other than 10.
template <typename Number>
std::optional<Number> number_in(std::string_view text, auto... base) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base...);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace smemtune
