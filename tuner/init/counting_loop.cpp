#include "tuner/init/counting_loop.h"

#include "tuner/init/host_terms.h"

#include <optional>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;

/// A change of a variable: `i += 2`, `n = n / 2`, `++i`.
struct Change {
  std::string name;
  std::string operation;
  std::string step;
};

class LoopReader {
 public:
  LoopReader(const ParsedSource& source, const Syntax& loop)
      : source_(source), syntax_(loop), body_(loop.parts.back()) {}

  CountingLoop read() {
    const CppTokens& tokens = source_.tokens();
    CountingLoop loop;
    loop.place = syntax_.range.first;
    loop.line = source_.line(syntax_.cursor);
    loop.changes = assigned_in(syntax_);
    add_swaps(body_, loop);
    const bool is_do = syntax_.text == "do";
    loop.header = joined(tokens, is_do ? TokenRange{body_.range.end, syntax_.range.end}
                                       : TokenRange{syntax_.range.first, body_.range.first});
    const bool counts = syntax_.kind == Kind::loop && !is_do &&
                        (syntax_.text == "for" ? read_for(loop) : read_while(loop));
    if (!counts) loop.counter.clear();
    return loop;
  }

 private:
  std::string text(const Syntax& syntax) const { return joined(source_.tokens(), syntax.whole); }

  bool read_for(CountingLoop& loop) const {
    const auto [counter, first] = counted_from(syntax_);
    if (first == nullptr) return false;
    loop.counter = counter;
    loop.first = text(*first);
    return read_end(loop) && read_step(change_of(syntax_.parts[Syntax::kStep]), loop) &&
           !assigned_in(body_).contains(loop.counter);
  }

  bool read_end(CountingLoop& loop) const {
    const Syntax& condition = syntax_.parts[Syntax::kCondition];
    if (condition.kind != Kind::binary || !condition.parts[0].is_name(loop.counter)) return false;
    loop.compares = condition.text;
    loop.bound = text(condition.parts[1]);
    return is_one_of(loop.compares, {"<", "<=", ">", ">=", "!="});
  }

  static bool read_step(const std::optional<Change>& change, CountingLoop& loop) {
    if (!change || change->name != loop.counter || change->step.empty()) return false;
    loop.operation = change->operation[0];
    loop.step = change->step;
    return true;
  }

  /// Reads `while (n > 1)` where the body changes `n` once in each turn, as `n /= 2;` does.
  bool read_while(CountingLoop& loop) const {
    const Syntax& condition = syntax_.parts[Syntax::kCondition];
    if (condition.kind != Kind::binary) return false;
    loop.counter = loop.first = condition.parts[0].text;
    std::optional<Change> change;
    for (const Syntax& statement : body_.parts) {
      const std::optional<Change> its = change_of(statement);
      if (its && its->name == loop.counter && !change) {
        change = its;
      } else if (assigned_in(statement).contains(loop.counter)) {
        return false;
      }
    }
    return read_end(loop) && read_step(change, loop);
  }

  std::optional<Change> change_of(const Syntax& syntax) const {
    if (syntax.steps()) return Change{syntax.parts[0].text, syntax.text.substr(1), "1"};
    if (syntax.kind != Kind::assignment || syntax.parts[0].kind != Kind::name) return std::nullopt;
    const std::string& name = syntax.parts[0].text;
    const Syntax& value = syntax.parts[1];
    if (syntax.text != "=") {
      return changed_by(name, syntax.text.substr(0, syntax.text.size() - 1), text(value));
    }
    if (value.kind != Kind::binary || !value.parts[0].is_name(name)) return std::nullopt;
    return changed_by(name, value.text, text(value.parts[1]));
  }

  /// Returns a shift as a product or a quotient.
  static std::optional<Change> changed_by(const std::string& name, const std::string& sign,
                                          const std::string& step) {
    if (sign.size() == 1) return Change{name, sign, step};
    const auto bits = number_of(step);
    if (!bits || *bits < 0 || *bits >= 31) return std::nullopt;
    return Change{name, sign == "<<" ? "*" : "/", std::to_string(std::int64_t{1} << *bits)};
  }

  /// Finds `swap(a, b)`, and `T c = a; a = b; b = c;`.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void add_swaps(const Syntax& syntax, CountingLoop& loop) const {
    const std::vector<Syntax>& parts = syntax.parts;
    if (syntax.is(Kind::call, "swap") && parts.size() == 3) {
      loop.swaps.emplace_back(text(parts[1]), text(parts[2]));
    }
    for (std::size_t i = 0; syntax.kind == Kind::block && i + 2 < parts.size(); ++i) {
      const auto [c, a] = assignment(parts[i]);
      const auto [a_again, b] = assignment(parts[i + 1]);
      const auto [b_again, c_again] = assignment(parts[i + 2]);
      const bool swaps = !c.empty() && a == a_again && b == b_again && c == c_again;
      if (swaps) loop.swaps.emplace_back(a, b);
    }
    for (const Syntax& part : parts) add_swaps(part, loop);
  }

  /// Returns what a statement assigns to, and the value.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  std::pair<std::string, std::string> assignment(const Syntax& statement) const {
    if (statement.kind == Kind::block && statement.parts.size() == 1) {
      return assignment(statement.parts[0]);
    }
    if (statement.kind == Kind::variable && statement.parts.size() == 1) {
      return {statement.text, text(statement.parts[0])};
    }
    if (!statement.is(Kind::assignment, "=")) return {};
    return {text(statement.parts[0]), text(statement.parts[1])};
  }

  const ParsedSource& source_;
  const Syntax& syntax_;
  const Syntax& body_;
};

}  // namespace

CountingLoop read_counting_loop(const ParsedSource& source, const Syntax& loop) {
  return LoopReader(source, loop).read();
}

std::set<std::string> assigned_in(const Syntax& part) {
  std::set<std::string> names;
  const auto add = [&](const Syntax& target) {
    if (target.kind == Kind::name) names.insert(target.text);
  };
  for_each(part, [&](const Syntax& syntax) {
    if (syntax.kind == Kind::assignment || syntax.steps()) add(syntax.parts[0]);
    if (syntax.kind != Kind::call) return;
    for (const Syntax& argument : syntax.parts) {
      if (argument.is(Kind::unary, "&")) add(argument.parts[0]);
    }
  });
  return names;
}

}  // namespace smemtune
