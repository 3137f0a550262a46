#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace smemtune {

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

std::string in_quotes(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
  std::string quoted = "'";
  quoted += text;
  quoted += "'";
  std::ranges::replace_if(quoted, is_control, ' ');
  return quoted;
}

std::string shortest(double number) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} ? std::string(digits.data(), end) : std::to_string(number);
}

}  // namespace smemtune
