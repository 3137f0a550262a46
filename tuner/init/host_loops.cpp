#include "tuner/init/host_loops.h"

#include "tuner/init/host_terms.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

/// A change of a variable: `i += 2`, `n = n / 2`, `++i`.
struct Change {
  std::string name;
  char operation = '+';
  std::string step;
};

/// Returns the step of a shift as a factor: `2` for 1.
std::string factor_of_shift(const std::string& bits) {
  const auto number = number_of(bits);
  return number && *number >= 0 && *number < 31 ? std::to_string(std::int64_t{1} << *number) : "";
}

class LoopReader {
 public:
  LoopReader(const ParsedSource& source, CXCursor loop, CXCursor body)
      : source_(source), tokens_(source.tokens()), loop_(loop), body_(body) {}

  HostLoop read() {
    const TokenRange whole = source_.range(loop_);
    const TokenRange body = source_.range(body_);
    HostLoop loop;
    loop.place = whole.first;
    loop.line = source_.line(loop_);
    loop.swaps = swaps_in(body);
    const CXCursorKind kind = ParsedSource::kind(loop_);
    const TokenRange head = kind == CXCursor_DoStmt ? TokenRange{body.end, whole.end}
                                                    : TokenRange{whole.first, body.first};
    loop.header = joined(tokens_, head);
    std::size_t open = head.first;
    while (open < head.end && !tokens_[open].is("(")) ++open;
    const std::size_t close = open < head.end ? closing(tokens_, open) : head.end;
    if (close >= head.end || kind == CXCursor_CXXForRangeStmt) return loop;
    const bool counts = kind == CXCursor_ForStmt     ? read_for({open + 1, close}, loop)
                        : kind == CXCursor_WhileStmt ? read_while({open + 1, close}, loop)
                                                     : false;
    if (!counts) loop.counter.clear();
    return loop;
  }

 private:
  bool read_for(TokenRange head, HostLoop& loop) const {
    std::vector<TokenRange> parts = {{head.first, head.first}};
    for (std::size_t j = head.first; j < head.end; ++j) {
      if (tokens_[j].is(";")) {
        parts.back().end = j;
        parts.push_back({j + 1, j + 1});
      } else if (tokens_[j].is("(") || tokens_[j].is("[")) {
        j = closing(tokens_, j);
      }
    }
    parts.back().end = head.end;
    if (parts.size() != 3 || !read_beginning(parts[0], loop)) return false;
    const std::optional<Change> change = change_of(parts[2]);
    if (!change || change->name != loop.counter || change->step.empty()) return false;
    loop.operation = change->operation;
    loop.step = change->step;
    return read_end(parts[1], loop) && !is_changed_in_body(loop.counter);
  }

  bool read_beginning(TokenRange range, HostLoop& loop) const {
    for (std::size_t i = range.first; i < range.end; ++i) {
      if (tokens_[i].is(",")) return false;
      if (!tokens_[i].is("=") || i == range.first || !tokens_[i - 1].is_word()) continue;
      loop.counter = tokens_[i - 1].text;
      loop.first = joined(tokens_, {i + 1, range.end});
      return !loop.first.empty();
    }
    return false;
  }

  bool read_end(TokenRange range, HostLoop& loop) const {
    static constexpr std::array<std::string_view, 5> kCompares = {"<", "<=", ">", ">=", "!="};
    if (range.end < range.first + 3 || !tokens_[range.first].is(loop.counter)) return false;
    loop.compares = tokens_[range.first + 1].text;
    std::size_t bound = range.first + 2;
    // The two tokens of `<=` may be apart.
    if (tokens_[bound].is("=") && (loop.compares == "<" || loop.compares == ">")) {
      loop.compares += "=";
      ++bound;
    }
    loop.bound = joined(tokens_, {bound, range.end});
    return !loop.bound.empty() && std::ranges::find(kCompares, loop.compares) != kCompares.end();
  }

  /// Reads `while (n > 1)` where the body changes `n` once in each turn, as `n /= 2;` does.
  bool read_while(TokenRange head, HostLoop& loop) const {
    if (head.empty() || !tokens_[head.first].is_word()) return false;
    loop.counter = tokens_[head.first].text;
    loop.first = loop.counter;
    if (!read_end(head, loop)) return false;
    std::optional<Change> change;
    for (const CXCursor statement : ParsedSource::children(body_)) {
      const std::optional<Change> its = change_of(source_.range(statement));
      if (its && its->name == loop.counter && !change) {
        change = its;
      } else if (assigned_in(source_, statement).contains(loop.counter)) {
        return false;
      }
    }
    if (!change || change->step.empty()) return false;
    loop.operation = change->operation;
    loop.step = change->step;
    return true;
  }

  bool is_changed_in_body(const std::string& name) const {
    return assigned_in(source_, body_).contains(name);
  }

  /// Reads an expression that changes one variable.
  std::optional<Change> change_of(TokenRange range) const {
    if (range.end > range.first && tokens_[range.end - 1].is(";")) --range.end;
    if (range.end < range.first + 2) return std::nullopt;
    const auto sign_at = [&](std::size_t i) { return tokens_[i].text; };
    for (const auto& [sign, operation] : {std::pair("++", '+'), std::pair("--", '-')}) {
      const bool is_step = range.end == range.first + 2;
      if (is_step && sign_at(range.first) == sign) {
        return Change{std::string(sign_at(range.first + 1)), operation, "1"};
      }
      if (is_step && sign_at(range.first + 1) == sign) {
        return Change{std::string(sign_at(range.first)), operation, "1"};
      }
    }
    if (!tokens_[range.first].is_word() || range.end < range.first + 3) return std::nullopt;
    const std::string name(tokens_[range.first].text);
    const std::string rest = joined(tokens_, {range.first + 1, range.end});
    return change_by(name, rest);
  }

  /// Reads `/= 2`, `= n / 2`, `>>= 1` behind the name.
  static std::optional<Change> change_by(const std::string& name, const std::string& rest) {
    std::string compact;
    for (const char c : rest) {
      if (c != ' ') compact += c;
    }
    const std::string itself = "=" + name;
    for (const std::string sign : {"+", "-", "*", "/", "<<", ">>"}) {
      std::string step;
      if (compact.starts_with(sign + "=")) step = compact.substr(sign.size() + 1);
      if (compact.starts_with(itself + sign)) step = compact.substr(itself.size() + sign.size());
      if (step.empty()) continue;
      if (sign == "<<") return Change{name, '*', factor_of_shift(step)};
      if (sign == ">>") return Change{name, '/', factor_of_shift(step)};
      return Change{name, sign[0], step};
    }
    return std::nullopt;
  }

  /// Finds `swap(a, b)`, and `T c = a; a = b; b = c;`.
  std::vector<std::pair<std::string, std::string>> swaps_in(TokenRange body) const {
    std::vector<std::pair<std::string, std::string>> swaps;
    for (std::size_t i = body.first; i + 1 < body.end; ++i) {
      if (tokens_[i].is("swap") && tokens_[i + 1].is("(")) {
        const std::size_t close = std::min(closing(tokens_, i + 1), body.end);
        const std::vector<std::string> both = texts(tokens_, split(tokens_, {i + 2, close}));
        if (both.size() == 2) swaps.emplace_back(both[0], both[1]);
        continue;
      }
      if (!tokens_[i].is("=")) continue;
      const std::vector<std::pair<std::string, std::string>> three = assignments_from(i, body.end);
      const bool is_swap = three.size() == 3 && three[0].second == three[1].first &&
                           three[1].second == three[2].first && three[2].second == three[0].first;
      if (is_swap) swaps.emplace_back(three[1].first, three[2].first);
    }
    return swaps;
  }

  /// Reads up to three statements `name = value;` in a row, the first with its = at token i; it may
  /// declare its variable. Returns names and values.
  std::vector<std::pair<std::string, std::string>> assignments_from(std::size_t i,
                                                                    std::size_t end) const {
    std::vector<std::pair<std::string, std::string>> found;
    std::size_t first = i - 1;
    while (found.size() < 3 && i < end && tokens_[i].is("=") && first < i) {
      std::size_t stop = i;
      while (stop < end && !tokens_[stop].is(";")) ++stop;
      if (stop >= end) break;
      found.emplace_back(joined(tokens_, {first, i}), joined(tokens_, {i + 1, stop}));
      first = i = stop + 1;
      while (i < end && !tokens_[i].is("=") && !tokens_[i].is(";")) ++i;
    }
    return found;
  }

  const ParsedSource& source_;
  const CppTokens& tokens_;
  CXCursor loop_;
  CXCursor body_;
};

void add_assigned(const ParsedSource& source, CXCursor part, bool is_passed,
                  std::set<std::string>& names) {
  const CppTokens& tokens = source.tokens();
  const CXCursorKind kind = ParsedSource::kind(part);
  const std::vector<CXCursor> parts = ParsedSource::children(part);
  const auto add = [&](CXCursor target) {
    if (ParsedSource::kind(target) == CXCursor_DeclRefExpr)
      names.insert(ParsedSource::name(target));
  };
  if (kind == CXCursor_CompoundAssignOperator && !parts.empty()) add(parts[0]);
  if (kind == CXCursor_BinaryOperator && parts.size() == 2) {
    const TokenRange between = {source.range(parts[0]).end, source.range(parts[1]).first};
    if (between.end == between.first + 1 && tokens[between.first].is("=")) add(parts[0]);
  }
  if (kind == CXCursor_UnaryOperator && !parts.empty()) {
    const TokenRange range = source.range(part);
    const auto is_sign = [&](std::string_view sign) {
      return !range.empty() && (tokens[range.first].is(sign) || tokens[range.end - 1].is(sign));
    };
    if (is_sign("++") || is_sign("--") || (is_passed && is_sign("&"))) add(parts[0]);
  }
  const bool passes = kind == CXCursor_CallExpr || kind == CXCursor_UnexposedExpr;
  for (const CXCursor child : parts) add_assigned(source, child, passes, names);
}

}  // namespace

HostLoop read_host_loop(const ParsedSource& source, CXCursor loop, CXCursor body) {
  return LoopReader(source, loop, body).read();
}

std::set<std::string> assigned_in(const ParsedSource& source, CXCursor part) {
  std::set<std::string> names;
  add_assigned(source, part, false, names);
  return names;
}

}  // namespace smemtune
