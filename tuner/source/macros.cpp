#include "tuner/source/macros.h"

#include "tuner/core/expression.h"
#include "tuner/core/text.h"
#include "tuner/source/directive.h"

namespace smemtune {
namespace {

/// Returns what a macro stands for if it is only another name.
std::string meaning(std::string_view word, const Meanings& meanings) {
  const auto found = meanings.find(std::string(word));
  if (found == meanings.end() || found->second.size() != 1) return std::string(word);
  const std::string& text = found->second.front();
  const std::vector<std::string_view> words = identifiers(text);
  const bool is_name = words.size() == 1 && words.front().size() == text.size();
  return is_name ? text : std::string(word);
}

bool equals(std::string_view sign) { return sign == "==" || sign == "!="; }

/// Returns true for what stands beside a name that #if asks by itself: `A && !B`.
bool joins(std::string_view sign) {
  return sign.empty() || sign == "&&" || sign == "||" || sign == "!" || sign == "(" || sign == ")";
}

}  // namespace

std::optional<std::pair<std::string, Macro>> defined_macro(const CppToken& line) {
  const Directive directive = directive_of(line);
  const CppTokens words = cpp_tokens(directive.rest);
  if (directive.name != "define" || words.empty()) return std::nullopt;
  Macro macro;
  macro.is_called = words.size() > 1 && words[1].is("(") && words[1].begin == words[0].end();
  const std::size_t close = macro.is_called ? closing(words, 1) : 0;
  if (close >= words.size()) return std::nullopt;
  if (macro.is_called) macro.parameters = texts(words, split(words, {2, close}));
  macro.text = joined(words, {close + 1, words.size()});
  return std::pair(std::string(words[0].text), std::move(macro));
}

void add_comparisons(std::string_view expression, const Meanings& meanings,
                     ComparedNumbers& compared) {
  const CppTokens tokens = cpp_tokens(expression);
  const auto at = [&](std::size_t i) { return i < tokens.size() ? tokens[i].text : ""; };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view before = at(i - 1);
    const std::string_view after = at(i + 1);
    const bool asks = before == "defined" || (before == "(" && at(i - 2) == "defined");
    if (!tokens[i].is_word() || tokens[i].is("defined") || asks || after == "(") continue;
    const std::string name = meaning(tokens[i].text, meanings);
    const auto behind = equals(after) ? whole_number(at(i + 2)) : std::nullopt;
    const auto ahead = equals(before) ? whole_number(at(i - 2)) : std::nullopt;
    if (behind || ahead) {
      compared[name].insert(behind ? *behind : *ahead);
    } else if (joins(before) && joins(after)) {
      compared[name].insert({0, 1});
    }
  }
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  const bool is_calculated = text.find_first_not_of("0123456789 ()+-*/<>") == text.npos &&
                             text.find_first_of("+-*/<") != text.npos;
  if (is_calculated) {
    try {
      return Expression::compile(text, Scope()).evaluate();
    } catch (const ExpressionError&) {
      return std::nullopt;
    }
  }
  while (!text.empty() && (text.front() == ' ' || text.front() == '(')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == ')' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) {
    text.remove_suffix(1);
  }
  return number_in<std::int64_t>(text, base);
}

}  // namespace smemtune
