#include "tuner/source/coverage.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace smemtune {
namespace {

/// A condition, and the tokens that are reached if it holds.
struct Condition {
  TokenRange text;
  TokenRange body;
  bool negated = false;  ///< True if the body follows `if (...) return;`.
};

class CoverageReader {
 public:
  CoverageReader(const CppTokens& tokens, TokenRange body, const std::set<std::string>& arguments)
      : tokens_(tokens), body_(body), arguments_(arguments) {
    constexpr std::size_t kMost = 100;
    for (std::size_t i = body.first; i + 1 < body.end && conditions_.size() < kMost; ++i) {
      if (tokens_[i].is("if") && tokens_[i + 1].is("(")) read_if(i);
      if (tokens_[i].is("for") && tokens_[i + 1].is("(")) read_for(i);
    }
  }

  bool leaves_elements_of(const std::string& name) const {
    constexpr int kMost = 100;
    int found = 0;
    for (std::size_t i = body_.first; i + 1 < body_.end && found < kMost; ++i) {
      if (!tokens_[i].is(name) || !tokens_[i + 1].is("[")) continue;
      const std::size_t close = closing(tokens_, i + 1);
      if (close + 1 >= body_.end || !tokens_[close + 1].is("=")) continue;
      const bool scatters = has(TokenRange{i + 2, close}, "[");
      const bool is_partial =
          scatters || std::ranges::any_of(conditions_, [&](const Condition& condition) {
            return condition.body.first <= i && i < condition.body.end && leaves_out(condition);
          });
      if (!is_partial) return false;
      ++found;
    }
    return found > 0;
  }

 private:
  bool has(TokenRange range, std::string_view text) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(range.first),
                       tokens_.begin() + static_cast<std::ptrdiff_t>(range.end),
                       [&](const CppToken& token) { return token.is(text); });
  }

  std::size_t end_of_statement(std::size_t first) const {
    for (std::size_t i = first; i < body_.end; ++i) {
      if (tokens_[i].is(";")) return i + 1;
      if (tokens_[i].is("{")) return std::min(closing(tokens_, i) + 1, body_.end);
      if (tokens_[i].is("(")) i = closing(tokens_, i);
    }
    return body_.end;
  }

  void read_if(std::size_t i) {
    const std::size_t close = closing(tokens_, i + 1);
    if (close + 1 >= body_.end) return;
    const std::size_t end = end_of_statement(close + 1);
    // The else branch may write what this one does not.
    if (end < body_.end && tokens_[end].is("else")) return;
    const std::size_t first = close + 1 + (tokens_[close + 1].is("{") ? 1 : 0);
    const bool returns = first < body_.end && tokens_[first].is("return");
    conditions_.push_back(
        {.text = {i + 2, close},
         .body = returns ? TokenRange{end, body_.end} : TokenRange{close + 1, end},
         .negated = returns});
  }

  void read_for(std::size_t i) {
    const std::size_t close = closing(tokens_, i + 1);
    if (close + 1 >= body_.end) return;
    std::vector<std::size_t> ends;
    for (std::size_t j = i + 2; j < close; ++j) {
      if (tokens_[j].is(";")) ends.push_back(j);
    }
    if (ends.size() != 2) return;
    conditions_.push_back(
        {.text = {ends[0] + 1, ends[1]}, .body = {close + 1, end_of_statement(close + 1)}});
  }

  /// Returns true if one of the terms that && joins leaves elements out; the terms that || joins if
  /// the body is reached when the condition does not hold.
  bool leaves_out(const Condition& condition) const {
    const std::string_view joint = condition.negated ? "||" : "&&";
    std::size_t first = condition.text.first;
    for (std::size_t i = first; i <= condition.text.end; ++i) {
      if (i < condition.text.end && !tokens_[i].is(joint)) continue;
      if (term_leaves_out({first, i}, condition.negated)) return true;
      first = i + 1;
    }
    return false;
  }

  bool term_leaves_out(TokenRange term, bool negated) const {
    if (has(term, "threadIdx")) return false;
    if (has(term, "[")) return true;
    for (std::size_t i = term.first; i < term.end; ++i) {
      const std::string_view symbol = tokens_[i].text;
      const bool bounds_from_above = negated ? symbol == ">=" || symbol == ">" : symbol == "<";
      const bool bounds_from_below =
          negated ? symbol == "<" || symbol == "<=" : symbol == ">" || symbol == ">=";
      if (bounds_from_above) return has({i + 1, term.end}, "-");
      if (bounds_from_below) return !is_argument({term.first, i});
      if (symbol == "!=") return !negated;
    }
    return false;
  }

  /// Returns true if it has the same value in all threads, as n in `n > i`.
  bool is_argument(TokenRange range) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(range.first),
                       tokens_.begin() + static_cast<std::ptrdiff_t>(range.end),
                       [&](const CppToken& token) {
                         return token.is_word() && arguments_.contains(std::string(token.text));
                       });
  }

  const CppTokens& tokens_;
  TokenRange body_;
  const std::set<std::string>& arguments_;
  std::vector<Condition> conditions_;
};

}  // namespace

bool may_leave_elements(const CppTokens& tokens, TokenRange body, const std::string& name,
                        const std::set<std::string>& arguments) {
  return CoverageReader(tokens, body, arguments).leaves_elements_of(name);
}

}  // namespace smemtune
