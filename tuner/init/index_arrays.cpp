#include "tuner/init/index_arrays.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

namespace smemtune {
namespace {

constexpr std::size_t kLongest = 100;  // Length of an index or a value, in tokens.

/// Returns true for two `<` or `>` without a blank between them.
bool is_shift(const CppTokens& tokens, std::size_t i) {
  return i + 1 < tokens.size() && (tokens[i].is("<") || tokens[i].is(">")) &&
         tokens[i + 1].is(tokens[i].text) && tokens[i].end() == tokens[i + 1].begin;
}

/// Returns true for `=`, `+=` and the like.
bool is_assignment(const CppToken& token) {
  static constexpr std::array<std::string_view, 4> kComparisons = {"==", "!=", "<=", ">="};
  return token.text.ends_with("=") &&
         std::ranges::find(kComparisons, token.text) == kComparisons.end();
}

/// Follows the elements of a kernel's pointers through its body.
class ElementFlow {
 public:
  ElementFlow(const CppTokens& tokens, const std::vector<SourceItem>& items, TokenRange body,
              const KernelFunction& kernel)
      : tokens_(tokens), items_(items), body_(body) {
    for (const KernelParameter& parameter : kernel.parameters) {
      if (parameter.pointers == 0) continue;
      pointers_.insert(parameter.name);
      const bool is_unsigned = parameter.type.find("unsigned") != std::string::npos ||
                               parameter.type.starts_with("u") || parameter.type == "size_t";
      if (is_unsigned) unsigned_.insert(parameter.name);
    }
    // A loop may use a variable before the line that changes it.
    for (int pass = 0; pass < 2; ++pass) read_variables();
  }

  ElementUses uses() const {
    ElementUses uses;
    for (std::size_t i = body_.first; i + 1 < body_.end; ++i) {
      add_index(i, uses);
      add(in_loop_condition(i), uses.counts);
      if (is_shift(tokens_, i)) add(elements_in(operand(i + 2)), uses.counts);
      add(in_call(i), uses.counts);
      const bool is_pointer = pointers_.contains(std::string(tokens_[i].text));
      if (is_pointer && !tokens_[i + 1].is("[")) uses.counts.insert(std::string(tokens_[i].text));
    }
    return uses;
  }

 private:
  using Names = std::set<std::string>;

  static void add(const Names& names, Names& to) { to.insert(names.begin(), names.end()); }

  void add_index(std::size_t i, ElementUses& uses) const {
    if (!tokens_[i].is_word() || !tokens_[i + 1].is("[")) return;
    const std::size_t close = closing(tokens_, i + 1);
    if (close >= body_.end || close - i > kLongest) return;
    for (const std::string& name : elements_in({i + 2, close})) {
      if (!tokens_[i].is(name)) uses.indices.insert(name);
    }
  }

  /// Returns the names in the condition of `while (condition)` and `for (...; condition; ...)`.
  Names in_loop_condition(std::size_t i) const {
    const bool is_for = tokens_[i].is("for");
    if ((!is_for && !tokens_[i].is("while")) || !tokens_[i + 1].is("(")) return {};
    TokenRange condition = {i + 2, closing(tokens_, i + 1)};
    if (condition.end >= body_.end) return {};
    if (is_for) {
      const auto semicolon = [&](std::size_t from) {
        while (from < condition.end && !tokens_[from].is(";")) ++from;
        return from;
      };
      condition.first = semicolon(condition.first) + 1;
      condition.end = semicolon(condition.first);
    }
    return elements_in(condition);
  }

  /// Returns the pointers whose elements are passed to a function of the source that is not a plain
  /// formula.
  Names in_call(std::size_t i) const {
    if (!tokens_[i].is_word() || !tokens_[i + 1].is("(")) return {};
    const auto function = std::ranges::find_if(items_, [&](const SourceItem& item) {
      return item.body != kNoToken && item.name != kNoToken &&
             tokens_[item.name].is(tokens_[i].text);
    });
    if (function == items_.end() || is_formula({function->body, function->end})) return {};
    return elements_in({i + 2, std::min(closing(tokens_, i + 1), body_.end)});
  }

  /// Returns true for a body without arrays, loops and shifts by anything but a number.
  bool is_formula(TokenRange body) const {
    for (std::size_t i = body.first; i < body.end; ++i) {
      const CppToken& token = tokens_[i];
      if (token.is("[") || token.is("for") || token.is("while")) return false;
      const bool shifts_by_name =
          is_shift(tokens_, i) && i + 2 < body.end && tokens_[i + 2].kind != CppToken::Kind::number;
      if (shifts_by_name) return false;
    }
    return true;
  }

  /// Reads `name = ... in[i] ...;` and `name[k] += ...;`.
  void read_variables() {
    for (std::size_t i = body_.first + 1; i + 1 < body_.end; ++i) {
      if (!is_assignment(tokens_[i])) continue;
      const std::string name = assigned_name(i);
      if (name.empty()) continue;
      std::size_t end = i + 1;
      int brackets = 0;
      for (; end < body_.end && end - i < kLongest && !tokens_[end].is(";"); ++end) {
        if (tokens_[end].is("(") || tokens_[end].is("[")) ++brackets;
        if (tokens_[end].is(")") || tokens_[end].is("]")) --brackets;
        if (brackets < 0 || (brackets == 0 && tokens_[end].is(","))) break;
      }
      add(elements_in({i + 1, end}), made_of_[name]);
    }
  }

  /// Returns the name on the left of an assignment, which may have indices and members.
  std::string assigned_name(std::size_t assignment) const {
    std::size_t i = assignment;
    while (i-- > body_.first) {
      if (tokens_[i].is("]")) {
        int open = 1;
        while (open > 0 && i-- > body_.first) {
          open += tokens_[i].is("]") ? 1 : tokens_[i].is("[") ? -1 : 0;
        }
        continue;
      }
      if (!tokens_[i].is_word()) return "";
      if (i == body_.first || !tokens_[i - 1].is(".")) return std::string(tokens_[i].text);
      --i;
    }
    return "";
  }

  /// Returns the operand that begins at a token.
  TokenRange operand(std::size_t first) const {
    if (first >= body_.end) return {first, first};
    if (tokens_[first].is("(")) return {first, std::min(closing(tokens_, first) + 1, body_.end)};
    const bool is_element = first + 1 < body_.end && tokens_[first + 1].is("[");
    return {first, is_element ? std::min(closing(tokens_, first + 1) + 1, body_.end) : first + 1};
  }

  /// Returns the pointers whose elements decide how large a value may be.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the text's brackets.
  Names elements_in(TokenRange range) const {
    if (is_masked(range)) return {};
    Names found;
    for (std::size_t i = range.first; i < range.end;) {
      const TokenRange part = operand(i);
      Names names;
      if (tokens_[i].is("(")) {
        names = elements_in({part.first + 1, part.end - 1});
      } else if (tokens_[i].is_word() && (i == 0 || !tokens_[i - 1].is("."))) {
        names = elements_of(part);
      }
      const std::size_t next = std::max(part.end, i + 1);
      const bool is_divided = next < range.end && tokens_[next].is("%");
      for (const std::string& name : names) {
        if (!is_divided || !unsigned_.contains(name)) found.insert(name);
      }
      i = next;
    }
    return found;
  }

  /// Returns the pointers for `name`, or for `name[index]`.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  Names elements_of(TokenRange operand) const {
    const std::string name(tokens_[operand.first].text);
    const bool is_element = operand.end > operand.first + 1;
    Names found;
    if (is_element && pointers_.contains(name)) found.insert(name);
    if (is_element) add(elements_in({operand.first + 2, operand.end - 1}), found);
    const auto variable = made_of_.find(name);
    if (variable != made_of_.end()) add(variable->second, found);
    return found;
  }

  /// Returns true for `a & b` if no element takes part in one of its sides.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  bool is_masked(TokenRange range) const {
    static constexpr std::array<std::string_view, 7> kLower = {"|", "^", "?", "||", "&&", ",", "~"};
    std::vector<TokenRange> sides = {{range.first, range.end}};
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (tokens_[i].is("(") || tokens_[i].is("[")) {
        i = std::min(closing(tokens_, i), range.end);
        continue;
      }
      if (std::ranges::find(kLower, tokens_[i].text) != kLower.end()) return false;
      // It may be the operator that takes an address.
      if (!tokens_[i].is("&") || i == sides.back().first) continue;
      sides.back().end = i;
      sides.push_back({i + 1, range.end});
    }
    return sides.size() > 1 && std::ranges::any_of(sides, [&](const TokenRange& side) {
             const bool is_negative =
                 std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(side.first),
                             tokens_.begin() + static_cast<std::ptrdiff_t>(side.end),
                             [](const CppToken& token) { return token.is("~"); });
             return !is_negative && elements_in(side).empty();
           });
  }

  const CppTokens& tokens_;
  const std::vector<SourceItem>& items_;
  TokenRange body_;
  Names pointers_;
  Names unsigned_;
  /// The pointers that local variables and arrays depend on.
  std::map<std::string, Names> made_of_;
};

}  // namespace

ElementUses uses_of_elements(const std::string& source, const KernelFunction& kernel) {
  const CppTokens tokens = cpp_tokens(source);
  const std::vector<SourceItem> items = read_items(tokens).items;
  for (const SourceItem& item : items) {
    const bool is_this =
        item.is_kernel && item.body != kNoToken && tokens[item.name].line == kernel.line;
    if (is_this) return ElementFlow(tokens, items, {item.body + 1, item.end - 1}, kernel).uses();
  }
  return {};
}

}  // namespace smemtune
