#include "tuner/core/names.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <functional>

namespace smemtune {
namespace {

constexpr std::size_t kListedCandidates = 20;

/// Returns whether `part` occurs as neighboring words in `words`.
bool has_words(const std::vector<std::string>& words, const std::vector<std::string>& part) {
  if (part.empty()) return false;
  // std::ranges::search is avoided: clang 14 cannot compile its result with this standard library.
  return std::search(words.begin(), words.end(), part.begin(), part.end()) != words.end();
}

void without_duplicates(std::vector<std::string>& names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = lower_case(c);
  return lower;
}

std::vector<std::string> name_words(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : lower_case(name)) {
    if (is_digit(c) || (is_letter(c) && c != '_') || static_cast<unsigned char>(c) >= 0x80) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) {
    return word.empty() || word == "nvidia" || word == "tesla" || word == "geforce";
  });
  return words;
}

std::vector<std::string> meant_names(std::string_view given, std::span<const std::string> known) {
  const std::string lower = lower_case(given);
  const std::vector<std::string> words = name_words(given);
  const std::string together = joined(words, "");
  const std::function<bool(const std::string&)> rules[] = {
      [&](const std::string& name) { return name == given; },
      [&](const std::string& name) { return lower_case(name) == lower; },
      [&](const std::string& name) {
        return !words.empty() && joined(name_words(name), "") == together;
      },
      [&](const std::string& name) { return has_words(name_words(name), words); }};
  std::vector<std::string> meant;
  for (const auto& rule : rules) {
    std::ranges::copy_if(known, std::back_inserter(meant), rule);
    if (!meant.empty()) break;
  }
  without_duplicates(meant);
  return meant;
}

std::string only_name(std::string_view what, std::string_view given,
                      std::vector<std::string> meant) {
  without_duplicates(meant);
  if (meant.size() == 1) return meant.front();
  if (meant.empty()) return std::string(given);
  const std::size_t more = meant.size() - std::min(meant.size(), kListedCandidates);
  meant.resize(meant.size() - more);
  throw InputError(std::string(what) + " " + quote(given) + " may be any of " +
                   joined(meant, ", ", [](const std::string& name) { return in_quotes(name); }) +
                   (more > 0 ? " and " + format_count(more) + " others" : ""));
}

std::string meant_name(std::string_view what, std::string_view given,
                       std::span<const std::string> known) {
  return only_name(what, given, meant_names(given, known));
}

}  // namespace smemtune
