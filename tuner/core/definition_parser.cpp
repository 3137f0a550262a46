#include "tuner/core/definition_program.h"
#include "tuner/core/text.h"
#include "tuner/core/tokens.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace smemtune {
namespace {

using expressions::BinaryOperator;
using expressions::Operation;

constexpr int kComparisonLevel = 7;  // All comparisons bind equally.

/// Returns how tightly the operator binds in a definition; 0 if definitions do not have it.
int level_of(const BinaryOperator& one) {
  const bool shifts =
      one.operation == Operation::shift_left || one.operation == Operation::shift_right;
  if (shifts || is_bitwise(one.operation)) return 0;
  return is_comparison(one.operation) ? kComparisonLevel : one.level;
}

struct Function {
  std::string_view name;
  Operation operation;
  std::size_t operands;
  std::optional<Operation> loop;  // Operation of NAME(i < n, x), if there is such a form.
};

constexpr std::array<Function, 14> kFunctions = {
    {{"sqrt", Operation::square_root, 1, std::nullopt},
     {"exp", Operation::exponential, 1, std::nullopt},
     {"log", Operation::logarithm, 1, std::nullopt},
     {"abs", Operation::absolute, 1, std::nullopt},
     {"floor", Operation::round_down, 1, std::nullopt},
     {"sin", Operation::sine, 1, std::nullopt},
     {"cos", Operation::cosine, 1, std::nullopt},
     {"tan", Operation::tangent, 1, std::nullopt},
     {"tanh", Operation::hyperbolic_tangent, 1, std::nullopt},
     {"erf", Operation::error_function, 1, std::nullopt},
     {"pow", Operation::power, 2, std::nullopt},
     {"min", Operation::minimum, 2, Operation::smallest},
     {"max", Operation::maximum, 2, Operation::largest},
     {"sum", Operation::sum, 0, Operation::sum}}};

}  // namespace

/// Parses `output[i, j] = value`.
class Definition::Parser {
 public:
  Parser(std::string_view text, const Bindings& constants,
         const std::map<std::string, std::size_t>& arrays, const std::vector<std::string>& scalars)
      : tokens_(text), constants_(constants), arrays_(arrays), scalars_(scalars) {
    scope_.add_constants(constants);
  }

  Program program() {
    program_.text = tokens_.text();
    const Token output = take_name("the output array");
    const auto known = arrays_.find(std::string(output.text));
    if (known == arrays_.end()) fail_unknown(output, "array");
    program_.output = output.text;
    tokens_.expect("[");
    do {
      add_index(take_name("an index"));
      ++program_.output_dimensions;
    } while (tokens_.take_if(","));
    tokens_.expect("]");
    require_dimensions(output, program_.output_dimensions, known->second);
    tokens_.expect("=");
    program_.root = conditional();
    tokens_.expect_end();
    program_.slots = next_slot_;
    return std::move(program_);
  }

 private:
  Node conditional() {
    Node condition = binary(1);
    const std::size_t column = tokens_.peek().column;
    if (!tokens_.take_if("?")) return condition;
    const Nesting nesting(tokens_, depth_);
    Node yes = conditional();
    tokens_.expect(":");
    Node no = conditional();
    return node(Operation::conditional, column, std::move(condition), std::move(yes),
                std::move(no));
  }

  Node binary(int lowest_level) {
    Node left = unary();
    while (true) {
      const BinaryOperator* const known = expressions::find_operator(tokens_.peek());
      const int level = known == nullptr ? 0 : level_of(*known);
      if (level < lowest_level) return left;
      const std::size_t column = tokens_.take().column;
      Node right = binary(level + 1);
      if (level == kComparisonLevel && is_comparison(left.operation) && !left.in_parentheses) {
        tokens_.fail(column, "comparisons in a row need parentheses");
      }
      if (known->operation == Operation::floor_divide) {
        left = node(Operation::round_down, column,
                    node(Operation::divide, column, std::move(left), std::move(right)));
      } else {
        left = node(known->operation, column, std::move(left), std::move(right));
      }
    }
  }

  Node unary() {
    const Token token = tokens_.peek();
    if (!token.is("+") && !token.is("-") && !token.is("!")) return power();
    tokens_.take();
    const Nesting nesting(tokens_, depth_);
    Node x = unary();
    if (token.is("+")) return x;
    return node(token.is("-") ? Operation::negate : Operation::logical_not, token.column,
                std::move(x));
  }

  Node power() {
    Node base = primary();
    const std::size_t column = tokens_.peek().column;
    if (!tokens_.take_if("**")) return base;
    const Nesting nesting(tokens_, depth_);
    return node(Operation::power, column, std::move(base), unary());
  }

  Node primary() {
    const Token token = tokens_.take();
    if (token.kind == Token::Kind::integer || token.kind == Token::Kind::real) {
      Node number = node(Operation::constant, token.column);
      number.number = token.real;
      number.is_whole = token.kind == Token::Kind::integer;
      if (number.is_whole) number.whole = static_cast<Whole>(token.integer);
      return number;
    }
    if (token.kind == Token::Kind::name) {
      if (tokens_.peek().is("(")) return call(token);
      if (tokens_.peek().is("[")) return element(token);
      return name(token);
    }
    if (!token.is("(")) {
      tokens_.fail(token.column,
                   "expected a number or a name" + (token.kind == Token::Kind::end
                                                        ? std::string(" at the end")
                                                        : " before " + in_quotes(token.text)));
    }
    const Nesting nesting(tokens_, depth_);
    Node inner = conditional();
    tokens_.expect(")");
    inner.in_parentheses = true;
    return inner;
  }

  Node name(const Token& token) {
    const auto index = index_slots_.find(token.text);
    if (index != index_slots_.end()) {
      Node found = node(Operation::variable, token.column);
      found.slot = index->second;
      return found;
    }
    const auto constant = constants_.find(token.text);
    if (constant != constants_.end()) {
      const auto* integer = std::get_if<std::int64_t>(&constant->second);
      if (integer != nullptr) return whole_number(token.column, *integer);
      return comparison(token, std::get<std::string>(constant->second));
    }
    if (std::find(scalars_.begin(), scalars_.end(), token.text) != scalars_.end()) {
      Node scalar = node(Operation::scalar, token.column);
      scalar.slot = number_of(program_.scalars, token.text);
      return scalar;
    }
    const auto array = arrays_.find(std::string(token.text));
    if (array != arrays_.end()) {
      tokens_.fail(token.column, in_quotes(token.text) +
                                     " is an array and needs its indices, one "
                                     "for each of its " +
                                     std::to_string(array->second) + " dimensions");
    }
    fail_unknown(token, "name");
  }

  /// Parses `== WORD` or `!= WORD` behind a name that stands for `value`.
  Node comparison(const Token& name, const std::string& value) {
    const bool wants_equal = tokens_.peek().is("==");
    if (!wants_equal && !tokens_.peek().is("!=")) {
      tokens_.fail(name.column, in_quotes(name.text) + " stands for a word, not for a number");
    }
    tokens_.take();
    return whole_number(name.column, (take_name("a word").text == value) == wants_equal ? 1 : 0);
  }

  Node element(const Token& token) {
    const auto array = arrays_.find(std::string(token.text));
    if (array == arrays_.end()) fail_unknown(token, "array");
    tokens_.expect("[");
    Node element = node(Operation::element, token.column);
    element.slot = number_of(program_.arrays, token.text);
    program_.dimensions.resize(program_.arrays.size());
    program_.dimensions[element.slot] = array->second;
    do {
      const auto slot = index_slots_.find(tokens_.peek().text);
      const bool is_alone = tokens_.peek(1).is(",") || tokens_.peek(1).is("]");
      element.index_slots.push_back(is_alone && slot != index_slots_.end() ? slot->second
                                                                           : Node::kNoSlot);
      element.indices.push_back(whole_expression(element));
    } while (tokens_.take_if(","));
    tokens_.expect("]");
    require_dimensions(token, element.indices.size(), array->second);
    return element;
  }

  /// Parses an index or a bound of `node`, which may read elements of arrays.
  Expression whole_expression(Node& node) {
    return Expression::compile(tokens_, scope_, [&](const Token& name) {
      const Nesting nesting(tokens_, depth_);
      node.gathered.push_back(element(name));
      node.gathered_slots.push_back(next_slot_);
      return next_slot_++;
    });
  }

  /// Parses `(TYPE)` and returns the size in bytes. TYPE may be a name of the problem that stands
  /// for a type.
  Node size_of_type(const Token& token) {
    tokens_.expect("(");
    const Token name = take_name("a type");
    const auto constant = constants_.find(name.text);
    const auto* word =
        constant == constants_.end() ? nullptr : std::get_if<std::string>(&constant->second);
    const auto size = type_size(word != nullptr ? *word : std::string(name.text));
    if (!size) tokens_.fail(name.column, "sizeof takes a type, not " + in_quotes(name.text));
    tokens_.expect(")");
    return whole_number(token.column, static_cast<std::int64_t>(*size));
  }

  Node whole_number(std::size_t column, std::int64_t value) {
    Node number = node(Operation::constant, column);
    number.number = static_cast<double>(value);
    number.whole = value;
    number.is_whole = true;
    return number;
  }

  Node call(const Token& token) {
    if (token.text == "sizeof") return size_of_type(token);
    const auto known = std::find_if(kFunctions.begin(), kFunctions.end(),
                                    [&](const Function& f) { return token.text == f.name; });
    if (known == kFunctions.end()) {
      const std::vector<std::string> names = texts_of(kFunctions, &Function::name);
      tokens_.fail(token.column,
                   "unknown function " + in_quotes(token.text) + suggestion(token.text, names));
    }
    tokens_.expect("(");
    const Nesting nesting(tokens_, depth_);
    // A new name before `<` is the index of a loop; a known one is an operand.
    const bool names_index = tokens_.peek().kind == Token::Kind::name && tokens_.peek(1).is("<");
    if (known->loop && names_index && (known->operands == 0 || !is_known(tokens_.peek().text))) {
      return loop(*known->loop, token.column);
    }
    if (known->operands == 0) tokens_.fail(token.column, "sum takes an index: sum(i < n, x)");
    Node result = node(known->operation, token.column);
    do {
      result.operands.push_back(conditional());
    } while (tokens_.take_if(","));
    tokens_.expect(")");
    if (result.operands.size() != known->operands) {
      tokens_.fail(token.column, std::string(token.text) + " takes " +
                                     std::to_string(known->operands) + " operands, not " +
                                     std::to_string(result.operands.size()));
    }
    return result;
  }

  Node loop(Operation operation, std::size_t column) {
    Node loop = node(operation, column);
    const Token index = tokens_.take();
    tokens_.expect("<");
    // The loop's index is not known in its bound.
    loop.indices.push_back(whole_expression(loop));
    tokens_.expect(",");
    const Scope outer_scope = scope_;
    loop.slot = next_slot_;
    add_index(index);
    loop.operands.push_back(conditional());
    tokens_.expect(")");
    scope_ = outer_scope;
    index_slots_.erase(index_slots_.find(index.text));
    return loop;
  }

  Token take_name(const std::string& what) {
    const Token token = tokens_.take();
    if (token.kind != Token::Kind::name) {
      tokens_.fail(token.column, "expected the name of " + what);
    }
    return token;
  }

  void add_index(const Token& token) {
    if (is_known(token.text)) {
      tokens_.fail(token.column, in_quotes(token.text) + " would have two meanings");
    }
    index_slots_.emplace(token.text, next_slot_);
    scope_.add_variable(std::string(token.text), next_slot_);
    ++next_slot_;
  }

  bool is_known(std::string_view name) const {
    return scope_.contains(name) || arrays_.contains(std::string(name)) ||
           std::find(scalars_.begin(), scalars_.end(), name) != scalars_.end();
  }

  // Returns the index of `name` in the list, and appends it if it is new.
  static std::size_t number_of(std::vector<std::string>& list, std::string_view name) {
    const auto found = std::find(list.begin(), list.end(), name);
    const auto number = static_cast<std::size_t>(found - list.begin());
    if (found == list.end()) list.emplace_back(name);
    return number;
  }

  void require_dimensions(const Token& token, std::size_t given, std::size_t needed) const {
    if (given == needed) return;
    tokens_.fail(token.column, in_quotes(token.text) + " has " + counted(needed, "dimension") +
                                   ", not " + std::to_string(given));
  }

  [[noreturn]] void fail_unknown(const Token& token, const std::string& what) const {
    std::vector<std::string> known;
    if (what != "array") {
      known = scope_.names();
      known.insert(known.end(), scalars_.begin(), scalars_.end());
    }
    for (const auto& [name, dimensions] : arrays_) known.push_back(name);
    tokens_.fail(token.column,
                 "unknown " + what + " " + in_quotes(token.text) + suggestion(token.text, known));
  }

  template <typename... Operands>
  Node node(Operation operation, std::size_t column, Operands... operands) {
    if (++nodes_ > kMaxNodes) {
      tokens_.fail(column, "more than " + std::to_string(kMaxNodes) + " names and operators");
    }
    Node node;
    node.operation = operation;
    node.column = column;
    (node.operands.push_back(std::move(operands)), ...);
    return node;
  }

  TokenStream tokens_;
  const Bindings& constants_;
  const std::map<std::string, std::size_t>& arrays_;
  const std::vector<std::string>& scalars_;
  Scope scope_;  // Names of integer expressions: constants and the indices in scope.
  std::map<std::string, std::size_t, std::less<>> index_slots_;
  std::size_t next_slot_ = 0;
  std::size_t depth_ = 0;
  std::size_t nodes_ = 0;
  Program program_;
};

Definition Definition::compile(std::string_view text, const Bindings& constants,
                               const std::map<std::string, std::size_t>& arrays,
                               const std::vector<std::string>& scalars) {
  Definition definition;
  definition.program_ =
      std::make_shared<Program>(Parser(text, constants, arrays, scalars).program());
  return definition;
}

}  // namespace smemtune
