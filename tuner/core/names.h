#pragma once

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

// The case of ASCII letters, whatever the locale.

constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower_case(std::string_view text);

/// Return the words of a name in lower case, without a GPU's vendor and brand: `rtx`, `4090`.
std::vector<std::string> name_words(std::string_view name);

/// Return the names of `known` that `given` means, by the first of these rules that finds any:
/// `given` is the name; it is the name in other case; it has the same words (name_words()), however
/// they are separated; it is some neighboring whole words of the name. So `L4` is never a part of
/// `NVIDIA L40`, and `RTX 2080` means a known `NVIDIA GeForce RTX 2080` even if an `RTX 2080 Ti` is
/// known as well. An empty result means unknown, several names mean ambiguous.
std::vector<std::string> meant_names(std::string_view given, std::span<const std::string> known);

/// Return the only name in `meant`, or `given` itself if there is none. Throw InputError listing
/// them if there are several: `WHAT 'given' may be any of ...`.
std::string only_name(std::string_view what, std::string_view given,
                      std::vector<std::string> meant);

/// Return the one name of `known` that `given` means: only_name() of meant_names().
std::string meant_name(std::string_view what, std::string_view given,
                       std::span<const std::string> known);

/// The words of an enumeration's values.
template <typename Enum, std::size_t N>
using EnumWords = std::array<std::pair<Enum, const char*>, N>;

/// Returns the word of `value`. REQUIRES: `words` has the value.
template <typename Enum, std::size_t N>
std::string word_of(Enum value, const EnumWords<Enum, N>& words) {
  return std::ranges::find(words, value, &std::pair<Enum, const char*>::first)->second;
}

/// Returns the value of `word`. Throws InputError, which says that `word` is not `what` and names
/// the nearest known word, or all of them.
template <typename Enum, std::size_t N>
Enum parse_word(const std::string& word, const EnumWords<Enum, N>& words, const std::string& what) {
  for (const auto& [value, its_word] : words) {
    if (word == its_word) return value;
  }
  std::vector<std::string> known;
  for (const auto& [value, its_word] : words) known.emplace_back(its_word);
  const std::string nearest = suggestion(word, known);
  throw InputError(quote(word) + " is not " + what +
                   (nearest.empty() ? "; there are " + joined(known, ", ") : nearest));
}

}  // namespace smemtune
