#include "tuner/source/access.h"

#include "tuner/source/directive.h"
#include "tuner/source/kernel_function.h"

#include <algorithm>
#include <array>
#include <optional>

namespace smemtune {
namespace {

// Length of a function's or macro's arguments, in tokens.
constexpr std::size_t kLongestArguments = 1000;
constexpr int kDeepestCall = 50;  // Depth of calls that are followed.

/// Returns the token behind an element's brackets and members, `[i].x`.
std::size_t behind_element(const CppTokens& tokens, std::size_t i, std::size_t end) {
  while (i < end) {
    if (tokens[i].is("[")) {
      i = std::min(closing(tokens, i), end) + 1;
    } else if ((tokens[i].is(".") || tokens[i].is("->")) && i + 1 < end) {
      i += 2;
    } else {
      break;
    }
  }
  return i;
}

Access both(Access a, Access b) {
  if (a == Access::unknown || b == Access::unknown) return Access::unknown;
  return a == b ? a : Access::both;
}

Access of_element(std::string_view before, std::string_view after) {
  if (after == "=") return Access::written;
  const bool changes = (after.size() == 2 && after[1] == '=' && after != "==" && after != "!=" &&
                        after != "<=" && after != ">=") ||
                       after == "++" || after == "--" || before == "++" || before == "--";
  return changes ? Access::both : Access::read;
}

/// Returns true if the operator at token i has no operand before it.
bool is_unary(const CppTokens& tokens, std::size_t i, std::size_t first) {
  if (i <= first) return true;
  const CppToken& before = tokens[i - 1];
  return (!before.is_word() || before.is("return")) && before.kind != CppToken::Kind::number &&
         !before.is(")") && !before.is("]");
}

/// Returns true if token i opens parentheses that are no call's.
bool is_grouping(const CppTokens& tokens, std::size_t i, std::size_t first) {
  return tokens[i].is("(") && is_unary(tokens, i, first) && !(i > first && tokens[i - 1].is(">"));
}

/// Returns true if the pointer at token i is only compared with a null pointer.
bool is_asked_for(const CppTokens& tokens, std::size_t i, std::size_t end) {
  if (i + 2 >= end || (!tokens[i + 1].is("!=") && !tokens[i + 1].is("=="))) return false;
  return tokens[i + 2].is("nullptr") || tokens[i + 2].is("NULL") || tokens[i + 2].is("0");
}

/// Returns the token of the name that `T* name = pointer + i;` gives to the pointer at token i, or
/// kNoToken.
std::size_t alias_of(const CppTokens& tokens, std::size_t i, std::size_t first) {
  constexpr std::size_t kMost = 30;
  for (std::size_t at = i; at > first + 3 && i - at < kMost; --at) {
    const CppToken& before = tokens[at - 1];
    if (before.is(";") || before.is("{") || before.is("}") || before.is("[") || before.is("?"))
      break;
    if (!before.is("=")) continue;
    const CppToken& star = tokens[at - 3];
    const bool declares =
        tokens[at - 2].is_word() && (star.is("*") || star.is("auto") || star.is("__restrict__") ||
                                     (star.is("const") && tokens[at - 4].is("*")));
    return declares ? at - 2 : kNoToken;
  }
  return kNoToken;
}

}  // namespace

AccessReader::AccessReader(const CppTokens& tokens, const std::vector<SourceItem>& items)
    : tokens_(tokens) {
  for (const SourceItem& item : items) {
    const bool has_text = item.kind == SourceItem::Kind::define || item.body != kNoToken;
    if (has_text && item.declares.size() == 1) functions_.emplace(item.declares.front(), &item);
  }
}

Access AccessReader::of(TokenRange range, const std::string& name) {
  return of(tokens_, range, name);
}

Access AccessReader::of(const CppTokens& tokens, TokenRange range, const std::string& name) {
  const auto [first, end] = range;
  std::optional<Access> all;
  const auto add = [&](Access access) { all = all ? both(*all, access) : access; };
  for (std::size_t i = first; i < end; ++i) {
    if (!tokens[i].is(name) || !tokens[i].is_word()) continue;
    const std::string_view before = i > 0 ? tokens[i - 1].text : std::string_view();
    if (before == "." || before == "->") continue;  // A member of something else.
    const bool is_element = i + 1 < end && tokens[i + 1].is("[");
    const bool is_dereferenced = before == "*" && is_unary(tokens, i - 1, first);
    std::size_t behind = behind_element(tokens, i + 1, end);
    const std::string_view after = behind < end ? tokens[behind].text : std::string_view();
    if (!is_element && !is_dereferenced) {
      // Advancing the pointer itself touches nothing.
      const bool advances = after == "+=" || after == "-=" || after == "++" || after == "--";
      if (advances || is_asked_for(tokens, i, end)) continue;
      const std::size_t alias = alias_of(tokens, i, first);
      if (alias != kNoToken && depth_ < kDeepestCall) {
        const std::string alias_name(tokens[alias].text);
        ++depth_;
        add(alias_name == name ? Access::unknown : of(tokens, {behind, end}, alias_name));
        --depth_;
      } else {
        add(passed(tokens, i, range));
      }
      continue;
    }
    std::size_t begin = is_dereferenced ? i - 1 : i;
    while (begin > first && behind < end && tokens[behind].is(")") &&
           is_grouping(tokens, begin - 1, first)) {  // `&(x[i])`, `(*x)++`
      --begin;
      behind = behind_element(tokens, behind + 1, end);
    }
    const CppToken none;
    const CppToken& in_front = begin > first ? tokens[begin - 1] : none;
    if (in_front.is("&") && is_unary(tokens, begin - 1, first)) {
      const Access access = passed(tokens, begin, range);
      add(access == Access::unknown ? Access::both : access);
      continue;
    }
    add(of_element(in_front.text, behind < end ? tokens[behind].text : std::string_view()));
  }
  return all.value_or(Access::unknown);
}

/// Returns how the pointer at token i is used in `f(a, pointer + b)` or `*(pointer + b)`.
Access AccessReader::passed(const CppTokens& tokens, std::size_t i, TokenRange range) {
  const auto [first, end] = range;
  std::size_t argument = 0;
  std::size_t open = i;
  for (int brackets = 0; brackets >= 0;) {
    if (open == first || open + kLongestArguments < i) return Access::unknown;
    const CppToken& token = tokens[--open];
    if (token.is(";") || token.is("{") || token.is("}") || token.is("=")) return Access::unknown;
    if (token.is(")") || token.is("]")) ++brackets;
    if (token.is("[") && --brackets < 0) return Access::unknown;
    if (token.is("(")) --brackets;
    if (token.is(",") && brackets == 0) ++argument;
  }
  std::size_t begin = open;  // First token of the expression that the parentheses belong to.
  if (begin > first && tokens[begin - 1].is(">")) {
    const std::size_t angle = opening_angle(tokens, begin - 1, first);
    if (angle == kNoToken) return Access::unknown;
    begin = angle;
  }
  const bool is_named = begin > first && tokens[begin - 1].is_word();
  if (is_named) --begin;
  const bool is_cast = is_named && tokens[begin].text.ends_with("_cast");
  if (is_named && !is_cast) return of_argument(tokens[begin].text, argument);
  // The pointer itself, in parentheses.
  const std::size_t close = closing(tokens, open);
  const std::size_t behind = behind_element(tokens, close + 1, end);
  const std::string_view before = begin > first ? tokens[begin - 1].text : std::string_view();
  const bool is_dereferenced = before == "*" && is_unary(tokens, begin - 1, first);
  const bool is_element = close + 1 < end && tokens[close + 1].is("[");
  if (!is_element && !is_dereferenced) return Access::unknown;
  return of_element(is_dereferenced ? "" : before,
                    behind < end ? tokens[behind].text : std::string_view());
}

Access AccessReader::of_argument(std::string_view function, std::size_t number) {
  if (function.starts_with("__st") && number == 0) return Access::written;  // `__stcs` and others.
  if (function.starts_with("__ldg") || function.starts_with("__ldc")) return Access::read;
  if (function.starts_with("atomic") && number == 0) {
    static constexpr std::array<std::string_view, 5> kAdding = {
        "atomicAdd", "atomicSub", "atomicInc", "atomicOr", "atomicXor"};
    const bool adds = std::ranges::any_of(
        kAdding, [&](std::string_view name) { return function.starts_with(name); });
    return adds ? Access::added : Access::both;
  }
  std::optional<Access> all;  // The access by all overloads and branches.
  const auto [begin, end] = functions_.equal_range(function);
  for (auto entry = begin; entry != end; ++entry) {
    const SourceItem& item = *entry->second;
    // Unknown while it is being read, which matters for a function that calls itself.
    const auto [known, is_new] = known_.try_emplace({&item, number}, Access::unknown);
    if (is_new) {
      if (++depth_ < kDeepestCall) {
        known->second = item.body == kNoToken ? of_macro(item, number) : of_function(item, number);
      }
      --depth_;
    }
    all = all ? both(*all, known->second) : known->second;
  }
  return all.value_or(Access::unknown);
}

Access AccessReader::of_function(const SourceItem& item, std::size_t number) {
  const std::size_t close = std::min(closing(tokens_, item.list), item.end);
  const std::vector<TokenRange> parts = split(tokens_, {item.list + 1, close});
  if (number >= parts.size()) return Access::unknown;
  const std::optional<KernelParameter> parameter = kernel_parameter(tokens_, parts[number]);
  if (!parameter || parameter->pointers == 0 || parameter->name.empty()) return Access::unknown;
  if (parameter->is_const) return Access::read;
  return of(tokens_, {item.body + 1, item.end}, parameter->name);
}

Access AccessReader::of_macro(const SourceItem& item, std::size_t number) {
  const std::string rest = directive_of(tokens_[item.first]).rest;
  const CppTokens tokens = cpp_tokens(rest);
  if (tokens.size() < 2 || !tokens[1].is("(")) return Access::unknown;
  const std::size_t close = closing(tokens, 1);
  const std::size_t name = 2 + 2 * number;
  if (close >= tokens.size() || name >= close) return Access::unknown;
  return of(tokens, {close + 1, tokens.size()}, std::string(tokens[name].text));
}

}  // namespace smemtune
