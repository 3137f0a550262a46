#include "tuner/core/text.h"

#include "tuner/core/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

namespace smemtune {
namespace {

/// One character of a text: its code point, or nullopt for bytes that are not UTF-8.
struct Character {
  std::optional<std::uint32_t> code_point;
  std::size_t bytes = 1;
};

/// Returns the first character. REQUIRES: text is not empty.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(text[i]) & 0xFF; };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code_point = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < kSmallest[bytes] || surrogate || code_point > 0x10FFFF) return {};
  return {code_point, bytes};
}

/// Returns whether a character moves the cursor, colors, breaks lines or changes the direction of
/// writing.
bool is_control(std::uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0) ||  // C0, DEL, C1
         code_point == 0x061C || code_point == 0xFEFF ||                    // ALM, BOM
         (code_point >= 0x200B && code_point <= 0x200F) ||                  // zero width, LRM, RLM
         (code_point >= 0x2028 && code_point <= 0x202E) ||                  // line ends, overrides
         (code_point >= 0x2060 && code_point <= 0x206F);                    // joiner, isolates
}

/// Replaces every control character, and bytes that are not UTF-8, by what `replace(character)`
/// returns.
template <typename Replace>
std::string with_replaced(std::string_view text, Replace replace) {
  std::string result;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (!character.code_point || is_control(*character.code_point)) {
      result += replace(character.code_point);
    } else {
      result += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return result;
}

bool is_blank(std::optional<std::uint32_t> code_point) {
  return code_point == '\n' || code_point == '\t' || code_point == '\r';
}

/// Returns the number of characters to leave out, add, change, or swap with a neighbor; case is
/// ignored.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](std::size_t i, std::size_t j) {
    return lower_case(a[i]) == lower_case(b[j]);
  };
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> above_that(b.size() + 1);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(above_that, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1);
      if (swapped) row[j] = std::min(row[j], above_that[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_qualified_name(std::string_view text) {
  while (true) {
    const std::size_t colons = text.find("::");
    if (!is_name(text.substr(0, colons))) return false;
    if (colons == std::string_view::npos) return true;
    text.remove_prefix(colons + 2);
  }
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return with_replaced(text, [](auto code_point) { return is_blank(code_point) ? ' ' : '?'; });
  }
  std::size_t end = 0;
  while (end < max_bytes) end += first_character(text.substr(end)).bytes;
  return printable(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

std::string printable_lines(std::string_view text) {
  return with_replaced(text, [](auto code_point) {
    return code_point == '\n' || code_point == '\t' ? static_cast<char>(*code_point)
           : code_point == '\r'                     ? ' '
                                                    : '?';
  });
}

std::string with_controls_escaped(std::string_view json) {
  return with_replaced(json, [](auto code_point) {
    if (code_point == '\n') return std::string("\n");
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", code_point.value_or(0xFFFD));
    return std::string(escaped);
  });
}

std::string quote(std::string_view text, std::size_t max_bytes) {
  std::string result = "'";
  result += printable(text, max_bytes);
  result += "'";
  return result;
}

std::string in_quotes(std::string_view text) { return quote(text, std::string_view::npos); }

std::string shortest(double number) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} ? std::string(digits.data(), end) : std::to_string(number);
}

std::string decimal(double value, int digits) {
  std::array<char, 512> text = {};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string significant(double value, int digits) {
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return text.data();
}

std::string told_apart(double number, double other) {
  constexpr int kFloat = 9;
  constexpr int kDouble = 17;
  std::string text = significant(number, kFloat);
  return text == significant(other, kFloat) ? significant(number, kDouble) : text;
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string counted(std::uint64_t count, const std::string& noun) {
  return format_count(count) + " " + noun + (count == 1 ? "" : "s");
}

bool in_natural_order(const std::string& one, const std::string& other) {
  return strverscmp(one.c_str(), other.c_str()) < 0;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string joined(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != &words.front()) text += separator;
    text += word;
  }
  return text;
}

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  std::string nearest;
  std::size_t least = name.size() / 3 + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string suggestion(std::string_view name, std::span<const std::string> known) {
  const std::string nearest = nearest_name(name, known);
  return nearest.empty() ? "" : "; did you mean " + quote(nearest) + "?";
}

}  // namespace smemtune
