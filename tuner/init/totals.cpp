#include "tuner/init/totals.h"

#include "tuner/init/comparisons.h"
#include "tuner/init/counting_loop.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/statements.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;

/// The findings in a function, in its own names.
struct FunctionTotals {
  std::optional<std::string> returned;  ///< The total that it returns.
  /// Those that it adds to its parameters, `*p` for what one points to.
  std::map<std::string, std::string> parameters;
  std::set<std::string> continued;  ///< Those of them to which it adds what the caller has there.
  /// Parameters that it compares with each other, likewise.
  std::vector<std::pair<std::string, std::string>> compared;
};

using KnownTotals = std::map<const DeclaredFunction*, FunctionTotals>;

bool is_total(const std::string& value) { return value.find("sum(") != std::string::npos; }

/// An array, and the function that has it where that is another than the one that is read.
struct SummedArray {
  std::string name;
  std::string function = {};
};

/// Returns `a` or `f::a` if a value is the sum of all elements of it up to some bound.
std::optional<SummedArray> summed_array(const std::string& value) {
  const auto sum = sum_in(value);
  if (!sum) return std::nullopt;
  const std::string term = plain_tokens(sum->term);
  const CppTokens words = cpp_tokens(term);
  const std::size_t own = words.size() > 2 && words[1].is("::") ? 2 : 0;
  const bool is_element =
      words.size() == own + 4 && words[own + 1].is("[") && words[own + 2].is(sum->counter);
  if (!is_element) return std::nullopt;
  return SummedArray{.name = std::string(words[own].text),
                     .function = own == 0 ? "" : std::string(words[0].text)};
}

/// Returns a total that a function returns in the names of its caller: `f::a` for the function's own
/// variable.
std::string in_caller(const FunctionCall& call, const std::string& total) {
  Terms own = {{"sum(", "sum("}};  // A variable `sum` is no function.
  for (const auto& [name, type] : call.callee->types) {
    if (call.callee->parameter(name)) continue;
    own.emplace_back(name, call.callee->name + "::" + name);
  }
  return call.in_caller(substituted(total, own));
}

/// Returns a variable, or `*p` for the first element of an array; empty for anything else.
std::string place_of(const Syntax& syntax) {
  if (syntax.kind == Kind::name) return syntax.text;
  const bool is_first = syntax.kind == Kind::element && syntax.parts[1].is(Kind::literal, "0");
  const bool has_name =
      (is_first || syntax.is(Kind::unary, "*")) && syntax.parts[0].kind == Kind::name;
  return has_name ? "*" + syntax.parts[0].text : "";
}

/// Returns the places that a part of a function gives other values.
std::set<std::string> changed_in(const Syntax& syntax) {
  std::set<std::string> places = assigned_in(syntax);
  for_each(syntax, [&](const Syntax& part) {
    if (part.kind == Kind::assignment || part.steps()) places.insert(place_of(part.parts[0]));
  });
  return places;
}

/// Follows the totals through one function.
class TotalReader {
 public:
  TotalReader(const ParsedSource& source, const HostDeclarations& declared,
              const KnownTotals& known, const DeclaredFunction& function)
      : source_(source), declared_(declared), known_(known), function_(function) {
    for (std::size_t i = 0; i < function.parameters.size(); ++i) {
      if (!function.may_change[i]) continue;
      values_[function.parameters[i]] = "0";
      found_.continued.insert(function.parameters[i]);
    }
  }

  void read() {
    walk(function_.body);
    for (const std::string& parameter : function_.parameters) {
      for (const std::string& name : {parameter, "*" + parameter}) {
        const auto value = values_.find(name);
        if (value != values_.end() && is_total(value->second)) found_.parameters.insert(*value);
      }
    }
  }

  FunctionTotals& found() { return found_; }
  std::vector<HostCheck>& checks() { return checks_; }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void walk(const Syntax& syntax) {
    switch (syntax.kind) {
      case Kind::block:
        return block(syntax);
      case Kind::variable:
        use(syntax);
        return set(syntax.text, syntax.parts.size() == 1 ? syntax.parts.data() : nullptr);
      case Kind::loop:
      case Kind::list_loop:
        return loop(syntax);
      case Kind::branch:
        use(syntax.parts[0]);
        return apart(syntax);
      case Kind::choice:
        return apart(syntax);
      case Kind::leave:
        use(syntax);
        if (syntax.parts.size() == 1) found_.returned = total_of(syntax.parts[0]);
        return;
      default:
        use(syntax);
        change(syntax);
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void block(const Syntax& syntax) {
    std::vector<const Syntax*> before;  // Values that the statement before has printed.
    for (const Syntax& part : syntax.parts) {
      walk(part);
      const std::vector<const Syntax*> printed = printed_by(part);
      std::vector<const Syntax*> both = before;
      both.insert(both.end(), printed.begin(), printed.end());
      for (const Syntax* const one : both) {
        for (const Syntax* const other : printed) compare(*one, *other, true);
      }
      before = printed;
    }
  }

  /// Reads parts of which some may not run.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void apart(const Syntax& syntax) {
    const std::map<std::string, std::string> before = values_;
    for (std::size_t i = 1; i < syntax.parts.size(); ++i) {
      values_ = before;
      walk(syntax.parts[i]);
    }
    values_ = before;
    forget(changed_in(syntax));
  }

  /// Reads a loop: the totals that it adds up, and those that it works out in each turn.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  void loop(const Syntax& syntax) {
    const std::set<std::string> changed = changed_in(syntax);
    std::map<std::string, std::string> behind = values_;
    for (const std::string& name : changed) {
      const auto before = values_.find(name);
      if (before == values_.end()) continue;
      behind.erase(name);
      const auto value = added_up(source_, syntax, name, before->second);
      if (value) behind.emplace(name, *value);
    }
    forget(changed);
    if (!syntax.parts.empty()) walk(syntax.parts.back());
    values_ = std::move(behind);
  }

  void change(const Syntax& syntax) {
    if (syntax.kind == Kind::call) return;  // It has been used.
    const bool sets = syntax.is(Kind::assignment, "=") && !place_of(syntax.parts[0]).empty();
    if (sets) return set(place_of(syntax.parts[0]), &syntax.parts[1]);
    forget(changed_in(syntax));
  }

  /// Reads `get_sum(a, n, total)`, and `for_each(a, a + n, ...)`.
  void call(const Syntax& syntax) {
    std::map<std::string, std::string> behind;
    for (const std::string& name : assigned_in(syntax)) {
      const auto before = values_.find(name);
      if (before == values_.end()) continue;
      if (const auto value = added_up(source_, syntax, name, before->second)) behind[name] = *value;
    }
    if (const auto called = called_by(syntax)) pass_back(*called, behind);
    forget(assigned_in(syntax));
    for (auto& [name, value] : behind) values_[name] = std::move(value);
  }

  /// Adds what a function adds to the variables that it gets by reference or address.
  void pass_back(const FunctionCall& call, std::map<std::string, std::string>& behind) {
    for (std::size_t i = 0; i < call.callee->parameters.size(); ++i) {
      const std::string& parameter = call.callee->parameters[i];
      const auto passed = call.passed.find(parameter);
      if (passed == call.passed.end()) continue;
      const bool is_address = passed->second.starts_with("&");
      const bool is_reference = call.callee->may_change[i];
      const std::string name = is_address     ? passed->second.substr(1)
                               : is_reference ? passed->second
                                              : "*" + passed->second;
      const std::map<std::string, std::string>& totals = known_.at(call.callee).parameters;
      const auto total = totals.find(is_reference ? parameter : "*" + parameter);
      const auto before = values_.find(name);
      const bool begins = !known_.at(call.callee).continued.contains(parameter) ||
                          (before != values_.end() && before->second == "0");
      if (total != totals.end() && begins) behind[name] = call.in_caller(total->second);
      forget({name});
    }
  }

  void set(const std::string& name, const Syntax* value) {
    forget({name});
    found_.continued.erase(name);
    if (value == nullptr) return;
    if (const auto total = total_of(*value)) values_[name] = *total;
    const std::string text = joined(source_.tokens(), value->range);
    if (value->kind == Kind::literal && text.find_first_not_of("0.fFlLuU") == std::string::npos) {
      values_[name] = "0";
    }
  }

  void forget(const std::set<std::string>& names) {
    for (const std::string& name : names) values_.erase(name);
  }

  /// Returns the call of a function whose totals are known.
  std::optional<FunctionCall> called_by(const Syntax& syntax) const {
    const auto text =
        syntax.kind == Kind::call ? call_in(source_.tokens(), syntax.range) : std::nullopt;
    if (!text) return std::nullopt;
    const auto callee = std::ranges::find(declared_.functions, text->name, &DeclaredFunction::name);
    if (callee == declared_.functions.end() || !known_.contains(&*callee)) return std::nullopt;
    return function_call(*text, *callee, &function_);
  }

  /// Returns the total that an expression is.
  std::optional<std::string> total_of(const Syntax& syntax) const {
    if (const std::string place = place_of(syntax); !place.empty()) {
      const auto known = values_.find(place);
      const bool has_total =
          known != values_.end() && is_total(known->second) && !found_.continued.contains(place);
      return has_total ? std::optional(known->second) : std::nullopt;
    }
    if (auto sum = accumulated(source_, syntax)) return sum;
    const auto called = called_by(syntax);
    if (!called || !known_.at(called->callee).returned) return std::nullopt;
    return in_caller(*called, *known_.at(called->callee).returned);
  }

  /// Finds the totals that an expression compares, and what its calls add up.
  void use(const Syntax& syntax) {
    for_each(syntax, [&](const Syntax& part) {
      for (const auto& [one, other] : compared_by(part)) compare(*one, *other, false);
      if (part.kind != Kind::call) return;
      if (const auto called = called_by(part)) compare_by(*called->callee, part);
      call(part);
    });
  }

  /// Finds the totals that a function compares.
  void compare_by(const DeclaredFunction& callee, const Syntax& call) {
    for (const auto& [one, other] : known_.at(&callee).compared) {
      const auto first = argument(callee, call, one);
      const auto second = argument(callee, call, other);
      if (first && second) compare(*first, *second, false);
    }
  }

  /// Returns what a call passes for a parameter, or for `*p` what that points to.
  static std::optional<Syntax> argument(const DeclaredFunction& callee, const Syntax& call,
                                        const std::string& place) {
    const bool is_pointee = place.starts_with("*");
    const auto parameter = callee.parameter(is_pointee ? place.substr(1) : place);
    const std::size_t number = parameter.value_or(call.parts.size()) + 1;
    if (number >= call.parts.size()) return std::nullopt;
    const Syntax& passed = call.parts[number];
    if (!is_pointee) return passed;
    if (passed.is(Kind::unary, "&")) return passed.parts[0];
    return Syntax{.kind = Kind::unary,
                  .text = "*",
                  .parts = {passed},
                  .range = passed.range,
                  .whole = passed.whole,
                  .cursor = passed.cursor};
  }

  /// Returns the values that a statement prints.
  std::vector<const Syntax*> printed_by(const Syntax& statement) const {
    constexpr std::size_t kMost = 32;
    const CppTokens& tokens = source_.tokens();
    const std::size_t first = statement.whole.first;
    const bool has_space = first + 2 < tokens.size() && tokens[first].is("std");
    const std::size_t name = has_space ? first + 2 : first;
    std::vector<const Syntax*> printed;
    const bool prints = name < statement.whole.end &&
                        is_one_of(tokens[name].text, {"printf", "fprintf", "cout", "cerr"});
    if (!prints) return printed;
    for_each(statement, [&](const Syntax& part) {
      if (!place_of(part).empty() && printed.size() < kMost) printed.push_back(&part);
    });
    return printed;
  }

  void compare(const Syntax& one, const Syntax& other, bool is_printed) {
    add(one, other, is_printed);
    add(other, one, is_printed);
    const auto is_parameter = [&](const std::string& place) {
      return function_.parameter(place.substr(place.starts_with("*") ? 1 : 0)).has_value();
    };
    if (!is_printed && is_parameter(place_of(one)) && is_parameter(place_of(other))) {
      found_.compared.emplace_back(place_of(one), place_of(other));
    }
  }

  /// Adds the check that a result, or the total of results, is a total.
  void add(const Syntax& expected, const Syntax& result, bool is_printed) {
    auto total = total_of(expected);
    const auto of_results = total_of(result);
    if (!total && of_results && !is_printed) total = number_in(expected);
    if (!total) return;
    const auto array = of_results ? summed_array(*of_results)
                                  : std::optional(SummedArray{pointer_in(place_of(result))});
    if (!array || array->name.empty()) return;
    const std::size_t line = source_.line(result.cursor);
    HostCheck check = {.function = function_.name,
                       .name = "total_in_" + function_.name + "_" + std::to_string(checks_.size()),
                       .array = array->name,
                       .line = line,
                       .is_loop = true,
                       .is_total = true,
                       .is_of_all = of_results.has_value(),
                       .is_printed = is_printed,
                       .results_in = array->function,
                       .store = SingleStore{.array = array->name, .index = "0", .value = *total}};
    checks_.push_back(check);
    if (!array->function.empty() || !function_.parameter(array->name)) return;
    check.is_loop = false;  // The caller has the results.
    check.name += "_of_caller";
    checks_.push_back(std::move(check));
  }

  /// Returns the text of a number, or of a formula of variables that are no results.
  std::optional<std::string> number_in(const Syntax& expected) const {
    const bool is_formula = !has_any(expected, [](const Syntax& part) {
      return part.kind != Kind::name && part.kind != Kind::literal && part.kind != Kind::binary;
    });
    return is_formula ? std::optional(joined(source_.tokens(), expected.range)) : std::nullopt;
  }

  const ParsedSource& source_;
  const HostDeclarations& declared_;
  const KnownTotals& known_;
  const DeclaredFunction& function_;
  std::map<std::string, std::string> values_;  ///< Totals, and "0" for variables that are 0.
  FunctionTotals found_;
  std::vector<HostCheck> checks_;
};

}  // namespace

void add_totals(const ParsedSource& source, const HostDeclarations& declared, HostPart& host) {
  KnownTotals known;
  for (const DeclaredFunction& function : declared.functions) {
    if (!function.of_class.empty()) continue;
    TotalReader reader(source, declared, known, function);
    reader.read();
    known.emplace(&function, std::move(reader.found()));
    std::vector<HostCheck>& checks = reader.checks();
    std::stable_partition(checks.begin(), checks.end(),
                          [](const HostCheck& check) { return !check.is_printed; });
    for (HostCheck& check : checks) {
      const bool is_known = std::ranges::any_of(host.checks, [&](const HostCheck& one) {
        return one.is_total && one.function == check.function && one.is_loop == check.is_loop &&
               one.array == check.array && one.store->value == check.store->value &&
               one.is_printed == check.is_printed;
      });
      if (!is_known) host.checks.push_back(std::move(check));
    }
  }
}

}  // namespace smemtune
