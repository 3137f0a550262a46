#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace smemtune {

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
