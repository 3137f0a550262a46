#include "tuner/init/statements.h"

#include "tuner/init/counting_loop.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/statement_reader.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;

/// Reads what loops of the host store to the elements of one array, or compare them with.
class CheckStatements : public Statements {
 public:
  CheckStatements(const ParsedSource& source, std::string array,
                  const std::vector<Comparison>& comparisons)
      : Statements(source), array_(std::move(array)) {
    for (const Comparison& one : comparisons) {
      if (one.array == array_) comparisons_.emplace(one.statement.first, &one);
    }
  }

  SingleStore read(const Syntax& whole) {
    unknown_.merge(assigned_in(whole));
    walk(whole);
    return stored();
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void walk(const Syntax& syntax) override {
    const auto comparison = comparisons_.find(syntax.whole.first);
    const bool compares =
        comparison != comparisons_.end() && comparison->second->statement.end == syntax.whole.end;
    if (compares) return compare(*comparison->second);
    switch (syntax.kind) {
      case Kind::block:
        for (const Syntax& part : syntax.parts) walk(part);
        return;
      case Kind::variable:
      case Kind::assignment:
        return simple(syntax);
      case Kind::loop:
        return chooses(syntax) ? through(syntax) : sum(syntax);
      default:
        may_not_run(syntax);
    }
  }

  /// Calls `use` for each element of the array that a statement stores to or compares.
  void for_each_store(const Syntax& syntax,
                      const std::function<void(const Syntax&)>& use) const override {
    auto one = comparisons_.lower_bound(syntax.whole.first);
    for (; one != comparisons_.end() && one->first < syntax.whole.end; ++one) {
      use(*one->second->element);
    }
    for_each(syntax, [&](const Syntax& part) {
      if (part.kind != Kind::assignment || part.parts[0].kind != Kind::element) return;
      if (part.parts[0].parts[0].is_name(array_)) use(part.parts[0]);
    });
  }

  bool may_store(const Syntax& syntax) const {
    bool may = false;
    for_each_store(syntax, [&](const Syntax&) { may = true; });
    return may;
  }

  void compare(const Comparison& comparison) {
    const std::string index = resolved(comparison.element->parts[1].range);
    const std::string value = resolved(comparison.expected->range);
    if (!stored_.empty()) throw NotSimple();
    begin_store(array_ + "[" + index + "]");
    set(stored_, value);
  }

  /// Reads a variable or an assignment; what is not understood is forgotten.
  void simple(const Syntax& syntax) {
    if (may_store(syntax)) return assign(syntax);
    std::set<std::string> names = assigned_in(syntax);
    if (syntax.kind == Kind::variable) names.insert(syntax.text);
    try {
      if (syntax.kind == Kind::variable) {
        declare(syntax);
      } else if (syntax.is(Kind::assignment, "=") && syntax.parts[0].kind == Kind::name) {
        set(syntax.parts[0].text, thread_or(resolved(syntax.parts[1].range)));
      } else if (syntax.parts[0].kind == Kind::name) {
        assign(syntax);
      }
      for (const std::string& name : names) unknown_.erase(name);
    } catch (const NotSimple&) {
      forget(names);
    }
  }

  /// Reads a loop that adds up, or repeats all.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void sum(const Syntax& loop) {
    CheckStatements one(*this);
    try {
      one.loop(loop);
      values_ = one.values_;
      counters_ = one.counters_;
      stored_ = one.stored_;
    } catch (const NotSimple&) {
      may_not_run(loop);
    }
  }

  /// Reads a statement of which parts may be left out.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void may_not_run(const Syntax& syntax) {
    const bool stores = may_store(syntax);
    if (stores && axes_ > 0) throw NotSimple();
    forget(assigned_in(syntax));
    for (const Syntax& part : syntax.parts) {
      if (stores) walk(part);
    }
    forget(assigned_in(syntax));
  }

  std::string array_;
  std::map<std::size_t, const Comparison*> comparisons_;  ///< Keyed by their first tokens.
};

/// Elements of an array of the host from the first on.
struct ElementRange {
  std::string array;
  std::string count;
};

/// Returns the elements between `a` and `a + n`, or `v.begin()` and `v.end()`; nullopt for others.
std::optional<ElementRange> elements_between(const CppTokens& tokens, const Syntax& first,
                                             const Syntax& end) {
  const std::string from = joined(tokens, first.whole);
  const std::string to = joined(tokens, end.whole);
  const bool is_list = from.find("begin") != std::string::npos;
  if (is_list && to.find("end") != std::string::npos) {
    const std::string list = array_at(from);
    if (list.empty() || !has_name(to, list)) return std::nullopt;
    return ElementRange{list, list + ".size()"};
  }
  const bool is_counted = end.is(Kind::binary, "+") && joined(tokens, end.parts[0].whole) == from;
  const std::string array = pointer_in(from);
  if (!is_counted || array.empty()) return std::nullopt;
  return ElementRange{array, joined(tokens, end.parts[1].whole)};
}

/// Reads what loops of the host add to one variable.
class SumStatements : public Statements {
 public:
  SumStatements(const ParsedSource& source, std::string variable, const std::string& before)
      : Statements(source), variable_(std::move(variable)) {
    values_[variable_] = before;
  }

  std::string read(const Syntax& syntax) {
    statement(syntax);
    return values_.at(variable_);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void statement(const Syntax& syntax) override {
    if (syntax.kind == Kind::leave) throw NotSimple();
    if (syntax.kind == Kind::block) return block(syntax);
    if (syntax.kind == Kind::variable) return variable(syntax);
    if (syntax.kind == Kind::list_loop && syntax.parts.size() > 2) return list_loop(syntax);
    if (syntax.is(Kind::call, "for_each") && syntax.parts.size() == 4) return each(syntax);
    if (assigned_in(syntax).contains(variable_)) return Statements::statement(syntax);
    const bool may_matter = has_any(syntax, [&](const Syntax& part) {
      return part.kind == Kind::leave || part.is_name(variable_);
    });
    if (may_matter) throw NotSimple();
    forget(assigned_in(syntax));
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void block(const Syntax& syntax) {
    for (const TokenRange& gap : gaps_in(syntax)) {
      for (std::size_t i = gap.first; i < gap.end; ++i) {
        if (tokens_[i].is(variable_) || is_one_of(tokens_[i].text, {"break", "continue"})) {
          throw NotSimple();
        }
      }
    }
    for (const Syntax& part : syntax.parts) {
      const bool is_store = part.is(Kind::assignment, "=") && part.parts[0].kind == Kind::element &&
                            part.parts[1].kind == Kind::name;
      if (is_store) stored_to_.emplace(part.parts[1].text, &part.parts[0]);
    }
    for (const Syntax& part : syntax.parts) statement(part);
  }

  void variable(const Syntax& syntax) {
    try {
      const auto element = stored_to_.find(syntax.text);
      if (element == stored_to_.end()) return declare(syntax);
      values_[syntax.text] = resolved(element->second->range);
    } catch (const NotSimple&) {
      forget({syntax.text});
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void list_loop(const Syntax& syntax) {
    const auto list = std::ranges::find(syntax.parts, Kind::name, &Syntax::kind);
    const auto name = std::ranges::find(syntax.parts, Kind::variable, &Syntax::kind);
    if (list == syntax.parts.end() || name == syntax.parts.end()) throw NotSimple();
    through({list->text, list->text + ".size()"}, name->text, syntax.parts.back());
  }

  /// Reads `for_each(a, a + n, [&](float x) { ... })`.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void each(const Syntax& call) {
    const auto elements = elements_between(tokens_, call.parts[1], call.parts[2]);
    const Syntax& body = call.parts[3];
    const bool has_one =
        body.kind == Kind::block && body.range.first > 1 && tokens_[body.range.first - 1].is(")");
    if (!elements || !has_one) throw NotSimple();
    through(*elements, std::string(tokens_[body.range.first - 2].text), body);
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void through(const ElementRange& elements, const std::string& name, const Syntax& body) {
    add_up({.counter = name,
            .first = "0",
            .end = elements.count,
            .by_one = true,
            .array = elements.array},
           body);
  }

  std::string variable_;
  std::map<std::string, const Syntax*> stored_to_;  ///< Elements, by the variables stored there.
};

/// Reads loops that count in the elements of an array.
class CountStatements : public Statements {
 public:
  CountStatements(const ParsedSource& source, std::string array, bool takes_off)
      : Statements(source), array_(std::move(array)), sign_(takes_off ? '-' : '+') {}

  SingleStore read(const Syntax& loop) {
    values_[array_] = "0";
    Statements::statement(loop);
    if (values_.at(array_) == "0") throw NotSimple();
    return {.array = array_, .index = "axis_a", .value = values_.at(array_)};
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void statement(const Syntax& syntax) override {
    const bool changes = syntax.steps() || syntax.kind == Kind::assignment;
    const Syntax* const target = changes ? syntax.parts.data() : nullptr;
    const bool counts =
        target != nullptr && target->kind == Kind::element && target->parts[0].is_name(array_);
    if (!counts) return Statements::statement(syntax);
    const bool is_other = syntax.text[0] != sign_ || syntax.text.size() != 2;
    const std::string element = resolved(target->parts[1].range);
    // A quotient of integers is another number in a definition.
    if (depth_ == 0 || is_other || element.find_first_of("/'") != std::string::npos) {
      throw NotSimple();
    }
    const std::string by = syntax.steps() ? "1" : resolved(syntax.parts[1].range);
    add_to(array_, "((" + element + ") == axis_a) ? (" + by + ") : 0");
  }

  std::string array_;
  char sign_;
};

}  // namespace

std::optional<SingleStore> counted(const ParsedSource& source, const Syntax& loop,
                                   const std::string& array, bool takes_off) {
  try {
    return CountStatements(source, array, takes_off).read(loop);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

std::optional<SingleStore> single_store(const ParsedSource& source, const Syntax& body,
                                        const KernelFunction& kernel) {
  try {
    return Statements(source, kernel).read(body);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

std::optional<SingleStore> checked_store(const ParsedSource& source, const Syntax& whole,
                                         const std::string& array,
                                         const std::vector<Comparison>& comparisons) {
  try {
    return CheckStatements(source, array, comparisons).read(whole);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

std::optional<HostSum> sum_in(const std::string& text) {
  const std::string whole = without_parentheses(text);
  const CppTokens tokens = cpp_tokens(whole);
  const bool is_sum = tokens.size() > 5 && tokens[0].is("sum") && tokens[4].is("bound_of") &&
                      closing(tokens, 1) + 1 == tokens.size();
  const std::size_t close = is_sum ? closing(tokens, 5) : tokens.size();
  if (close + 3 >= tokens.size()) return std::nullopt;
  return HostSum{.counter = std::string(tokens[2].text),
                 .bound = without_parentheses(joined(tokens, {6, close})),
                 .term = without_parentheses(joined(tokens, {close + 2, tokens.size() - 1}))};
}

std::optional<std::string> added_up(const ParsedSource& source, const Syntax& statement,
                                    const std::string& variable, const std::string& before) {
  try {
    const std::string value = SumStatements(source, variable, before).read(statement);
    return value == before ? std::nullopt : std::optional(value);
  } catch (const NotSimple&) {
    return std::nullopt;
  }
}

std::string array_at(const std::string& text) {
  for (const std::string_view word : identifiers(text)) {
    if (!is_one_of(word, {"std", "begin", "cbegin"})) return std::string(word);
  }
  return "";
}

namespace {

/// Returns what a function makes of elements: a lambda that does nothing but return it, or
/// std::plus and the like.
std::optional<std::string> made_by(const CppTokens& tokens, const Syntax& function,
                                   const std::vector<std::string>& elements) {
  const std::size_t open = function.range.first;
  const bool is_lambda = function.kind == Syntax::Kind::block && function.parts.size() == 1 &&
                         function.parts[0].is(Syntax::Kind::leave, "return") && open > 0 &&
                         tokens[open - 1].is(")");
  if (is_lambda) {
    Terms terms;
    for (const TokenRange& parameter : split(tokens, {opening(tokens, open - 1) + 1, open - 1})) {
      if (terms.size() == elements.size() || parameter.empty()) return std::nullopt;
      terms.emplace_back(tokens[parameter.end - 1].text, elements[terms.size()]);
    }
    return substituted(joined(tokens, function.parts[0].parts.at(0).range), terms);
  }
  const std::string text = joined(tokens, function.whole);
  for (const auto& [name, sign] :
       {std::pair("plus", " + "), {"multiplies", " * "}, {"minus", " - "}}) {
    if (has_name(text, name) && elements.size() == 2) return elements[0] + sign + elements[1];
  }
  return std::nullopt;
}

}  // namespace

std::optional<SingleStore> filled_by(const ParsedSource& source, const Syntax& call) {
  const CppTokens& tokens = source.tokens();
  const std::vector<Syntax>& parts = call.parts;
  if (call.kind != Syntax::Kind::call || parts.size() < 4) return std::nullopt;
  const auto array = [&](std::size_t i) { return array_at(joined(tokens, parts[i].whole)); };
  const auto range = elements_between(tokens, parts[1], parts[2]);
  if (!range) return std::nullopt;
  SingleStore store = {.index = "axis_a", .conditions = {"axis_a < " + range->count}};
  const bool is_inclusive = is_one_of(call.text, {"partial_sum", "inclusive_scan"});
  const bool is_exclusive = call.text == "exclusive_scan" && parts.size() == 5 &&
                            number_of(joined(tokens, parts[4].range)) == 0;
  if ((is_inclusive && parts.size() == 4) || is_exclusive) {
    store.array = array(3);
    store.value = std::string("sum(k_0 < bound_of[axis_a") + (is_inclusive ? " + 1" : "") + "], " +
                  range->array + "[k_0])";
    return store;
  }
  if (call.text != "transform" || parts.size() < 5 || parts.size() > 6) return std::nullopt;
  std::vector<std::string> elements = {range->array + "[axis_a]"};
  if (parts.size() == 6) elements.push_back(array(3) + "[axis_a]");
  const auto value = made_by(tokens, parts.back(), elements);
  if (!value) return std::nullopt;
  store.array = array(parts.size() - 2);
  store.value = *value;
  return store;
}

std::optional<std::string> accumulated(const ParsedSource& source, const Syntax& call) {
  const std::vector<Syntax>& parts = call.parts;
  const bool is_product = call.is(Kind::call, "inner_product") && parts.size() == 5;
  const bool is_sum = call.is(Kind::call, "accumulate") || call.is(Kind::call, "reduce");
  if (!is_product && (!is_sum || parts.size() < 3 || parts.size() > 4)) return std::nullopt;
  const CppTokens& tokens = source.tokens();
  const auto elements = elements_between(tokens, parts[1], parts[2]);
  const std::string first = parts.size() < 4 ? "0" : joined(tokens, parts.back().range);
  const std::string other =
      is_product ? " * " + array_at(joined(tokens, parts[3].range)) + "[k_0]" : "";
  const bool is_from_zero = first.find_first_not_of("0.fLlUu") == std::string::npos;
  if (!elements || !is_from_zero || other.starts_with(" * [")) return std::nullopt;
  return "sum(k_0 < bound_of[" + elements->count + "], " + elements->array + "[k_0]" + other + ")";
}

}  // namespace smemtune
