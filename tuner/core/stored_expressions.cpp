#include "tuner/core/stored_expressions.h"

#include "tuner/core/device.h"
#include "tuner/core/tokens.h"

#include <algorithm>
#include <cstdint>
#include <variant>

namespace smemtune {

namespace {

/// Adds the names in an expression that neither stand for a value nor call a function, as words.
void add_words(const std::string& text, Scope& scope) {
  for (TokenStream tokens(text); tokens.peek().kind != Token::Kind::end; tokens.take()) {
    const std::string name(tokens.peek().text);
    const bool is_called = tokens.peek(1).is("(");
    if (tokens.peek().kind != Token::Kind::name || is_called || scope.contains(name)) continue;
    scope.add_constant(name, name);
  }
}

}  // namespace

std::optional<Expression> compile_condition(const std::string& text, Scope& scope) {
  try {
    add_words(text, scope);
    return Expression::compile(text, scope);
  } catch (const ExpressionError&) {
    return std::nullopt;
  }
}

StoredExpressions::StoredExpressions(const std::vector<std::string>& texts,
                                     const Configuration& configuration, const Problem& problem) {
  Scope scope;
  for (const Bindings& bindings : {device_names({}), problem, configuration}) {
    for (const auto& [name, value] : bindings) {
      const auto [its, is_new] = slots_.try_emplace(name, slots_.size());
      const bool is_word = std::holds_alternative<std::string>(value);
      if (is_new) {
        scope.add_variable(name, its->second, is_word ? Scope::Kind::word : Scope::Kind::integer);
      }
    }
  }
  for (const std::string& text : texts) expressions_.push_back(compile_condition(text, scope));
}

std::vector<std::optional<std::int64_t>> StoredExpressions::values(
    const Configuration& configuration, const Problem& problem, const Bindings& device) const {
  std::vector<std::int64_t> slots(slots_.size());
  for (const Bindings* bindings : {&device, &problem, &configuration}) {
    for (const auto& [name, value] : *bindings) {
      const auto slot = slots_.find(name);
      if (slot != slots_.end()) slots[slot->second] = to_slot(value);
    }
  }
  std::vector<std::optional<std::int64_t>> values;
  for (const std::optional<Expression>& one : expressions_) {
    try {
      values.push_back(one ? std::optional(one->evaluate(slots)) : std::nullopt);
    } catch (const ExpressionError&) {
      values.push_back(std::nullopt);
    }
  }
  return values;
}

bool StoredExpressions::hold(const Configuration& configuration, const Problem& problem,
                             const Bindings& device) const {
  const auto holds = [](const std::optional<std::int64_t>& value) {
    return value.value_or(0) != 0;
  };
  return std::ranges::all_of(values(configuration, problem, device), holds);
}

}  // namespace smemtune
