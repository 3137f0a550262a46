#include "tuner/init/macro_expansion.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smemtune {
namespace {

/// Returns the macros whose body launches a kernel or makes one, or uses a macro that does; and, if
/// asked for, those with parameters.
Macros wanted_macros(const CppTokens& tokens, bool all_called) {
  static constexpr std::array<std::string_view, 3> kMarks = {"<<<", "cudaLaunch", "__global__"};
  Macros macros;
  const auto is_wanted = [&](const std::string& body) {
    const std::vector<std::string_view> names = identifiers(body);
    return std::ranges::any_of(kMarks,
                               [&](auto mark) { return body.find(mark) != std::string::npos; }) ||
           std::ranges::any_of(names,
                               [&](auto name) { return macros.contains(std::string(name)); });
  };
  for (const CppToken& token : tokens) {
    if (token.kind != CppToken::Kind::directive) continue;
    auto macro = defined_macro(token);
    const bool all = macro && all_called && macro->second.is_called;
    if (macro && (all || is_wanted(macro->second.text)))
      macros.insert_or_assign(macro->first, std::move(macro->second));
  }
  return macros;
}

/// Returns the text with one level of these macros expanded; empty if it uses none.
std::string expanded_once(const std::string& text, bool all_called) {
  const CppTokens tokens = cpp_tokens(text);
  const Macros macros = wanted_macros(tokens, all_called);
  std::string result;
  std::size_t copied = 0;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const auto macro = macros.find(std::string(tokens[i].text));
    if (macro == macros.end() || (macro->second.is_called && !tokens[i + 1].is("("))) continue;
    const std::size_t last = macro->second.is_called ? closing(tokens, i + 1) : i;
    if (last >= tokens.size()) continue;
    const std::string_view use =
        std::string_view(text).substr(tokens[i].begin, tokens[last].end() - tokens[i].begin);
    const std::vector<std::string> arguments = macro->second.is_called
                                                   ? texts(tokens, split(tokens, {i + 2, last}))
                                                   : std::vector<std::string>();
    result += text.substr(copied, tokens[i].begin - copied) + expansion(macro->second, arguments) +
              std::string(static_cast<std::size_t>(std::ranges::count(use, '\n')), '\n');
    copied = tokens[last].end();
    i = last;
  }
  return copied == 0 ? "" : result + text.substr(copied);
}

FlatSource expanded(FlatSource source, bool all_called) {
  constexpr int kMostLevels = 4;
  constexpr std::size_t kLongest = 1 << 24;
  for (int level = 0; level < kMostLevels && source.text.size() < kLongest; ++level) {
    std::string text = expanded_once(source.text, all_called);
    if (text.empty()) break;
    source.text = std::move(text);
  }
  return source;
}

}  // namespace

std::string expansion(const Macro& macro, const std::vector<std::string>& arguments) {
  const bool is_variadic = !macro.parameters.empty() && macro.parameters.back() == "...";
  const std::size_t named = macro.parameters.size() - (is_variadic ? 1 : 0);
  std::string result;
  std::size_t end = 0;
  const CppTokens tokens = cpp_tokens(macro.text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const CppToken& token = tokens[i];
    const bool pastes = token.is("#") && i + 2 < tokens.size() && tokens[i + 1].is("#");
    if (pastes) {
      end = tokens[i + 2].begin;
      ++i;
      continue;
    }
    const bool is_pasted = i + 1 < tokens.size() && tokens[i + 1].is("#");
    if (token.begin > end) result += ' ';
    end = is_pasted ? tokens[i + 1].begin : token.end();
    const auto own = std::ranges::find(macro.parameters, token.text);
    const auto number = static_cast<std::size_t>(own - macro.parameters.begin());
    if (token.is("__VA_ARGS__") && is_variadic) {
      for (std::size_t j = named; j < arguments.size(); ++j) {
        result += (j > named ? ", " : "") + arguments[j];
      }
    } else if (own != macro.parameters.end() && number < arguments.size()) {
      result += arguments[number];
    } else {
      result += token.text;
    }
  }
  return result;
}

FlatSource with_kernel_macros_expanded(FlatSource source) {
  return expanded(std::move(source), false);
}

FlatSource with_macros_expanded(FlatSource source) { return expanded(std::move(source), true); }

}  // namespace smemtune
