#pragma once

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

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
