#include "tuner/core/expression.h"
#include "tuner/core/expression_operations.h"
#include "tuner/core/text.h"
#include "tuner/core/tokens.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

namespace smemtune {

namespace {

// Returns whether C++ composes type names of this word: `unsigned long long`.
bool is_type_keyword(std::string_view word) {
  constexpr std::array<std::string_view, 7> kWords = {"unsigned", "signed", "char",  "short",
                                                      "int",      "long",   "double"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

}  // namespace

/// Builds the tree of an expression, folds constants and writes the code.
class ExpressionParser {
 public:
  /// `in_reals`: the expression is in double precision.
  ExpressionParser(TokenStream& tokens, const Scope& scope, bool in_reals = false,
                   Expression::ElementReader read_element = {})
      : tokens_(tokens),
        scope_(scope),
        in_reals_(in_reals),
        read_element_(std::move(read_element)) {}

  Expression expression() {
    std::size_t root = conditional();
    if (in_reals_) {
      root = real(root);
    } else {
      require_integer(root);
    }
    fold(root, true);
    Expression expression;
    expression.text_ = tokens_.text();
    move_to(0, write(root, 0, expression), nodes_[root], expression);
    std::sort(expression.variables_.begin(), expression.variables_.end());
    const auto unique = std::unique(expression.variables_.begin(), expression.variables_.end());
    expression.variables_.erase(unique, expression.variables_.end());
    return expression;
  }

 private:
  using Operation = expressions::Operation;
  using BinaryOperator = expressions::BinaryOperator;

  struct Node {
    Operation operation = Operation::constant;
    std::size_t column = 0;
    std::int64_t operand = 0;             ///< Value of a constant, or slot of a variable.
    std::array<std::size_t, 3> children;  ///< One child for each operand of the operation.
    Scope::Kind kind = Scope::Kind::integer;
    bool in_parentheses = false;
    bool is_real = false;
  };

  // --- From text to tree, loosest binding first.

  std::size_t conditional() {
    const std::size_t condition = binary(1);
    if (in_python_ && is_name("if")) return python_conditional(condition);
    const std::size_t column = tokens_.peek().column;
    if (!tokens_.take_if("?")) return condition;
    const Nesting nesting(tokens_, depth_);
    const std::size_t yes = conditional();
    tokens_.expect(":");
    return choice(column, condition, yes, conditional());
  }

  std::size_t binary(int lowest_level) {
    std::size_t left = operand(lowest_level);
    while (true) {
      const BinaryOperator* const known = expressions::find_operator(tokens_.peek());
      if (known == nullptr || known->level < lowest_level) return left;
      if (in_python_ && is_comparison(known->operation)) return left;
      const std::size_t column = tokens_.take().column;
      const std::size_t right = binary(known->level + 1);
      refuse_ambiguous(*known, column, left);
      refuse_ambiguous(*known, column, right);
      left = add(known->operation, column, {left, right});
    }
  }

  // Parses an operand of operators of this level and above.
  std::size_t operand(int lowest_level) {
    const Token& token = tokens_.peek();
    if (!token.is("not")) {
      return in_python_ && lowest_level <= expressions::kNotLevel ? comparisons() : unary();
    }
    if (lowest_level > expressions::kNotLevel) {
      tokens_.fail(token.column, "'not' after an operator that binds tighter needs parentheses");
    }
    const std::size_t column = tokens_.take().column;
    const Nesting nesting(tokens_, depth_);
    return add(Operation::logical_not, column, {binary(expressions::kNotLevel)});
  }

  // --- Python's grammar: chained comparisons must all hold, and bind looser than `|`; `/` gives a
  // real.

  bool is_name(std::string_view name) const {
    const Token& token = tokens_.peek();
    return token.kind == Token::Kind::name && token.text == name;
  }

  // Parses the rest of VALUE if CONDITION else VALUE.
  std::size_t python_conditional(std::size_t value) {
    const std::size_t column = tokens_.take().column;
    const Nesting nesting(tokens_, depth_);
    const std::size_t condition = binary(1);
    if (!is_name("else")) tokens_.fail(tokens_.peek().column, "expected 'else'");
    tokens_.take();
    const std::size_t otherwise = conditional();
    return choice(column, condition, value, otherwise);
  }

  // Adds a choice between values, which are reals if one of them is.
  std::size_t choice(std::size_t column, std::size_t condition, std::size_t yes, std::size_t no) {
    const bool is_real = nodes_[yes].is_real || nodes_[no].is_real;
    const std::size_t node =
        add(Operation::conditional, column,
            {truth(condition), is_real ? real(yes) : yes, is_real ? real(no) : no});
    nodes_[node].is_real = is_real;
    return node;
  }

  std::size_t comparisons() {
    constexpr int kOperands = expressions::kNotLevel + 1;
    std::size_t left = binary(kOperands);
    std::optional<std::size_t> all;
    while (true) {
      const Token token = tokens_.peek();
      const BinaryOperator* const known = expressions::find_operator(token);
      const bool compares = known != nullptr && is_comparison(known->operation);
      const bool is_not = token.is("not");
      if (!compares && !is_not && !is_name("in")) return all.value_or(left);
      tokens_.take();
      std::size_t holds = 0;
      if (compares) {
        const std::size_t right = binary(kOperands);
        holds = add(known->operation, token.column, {left, right});
        left = copy(right);
      } else {
        if (is_not && !is_name("in")) tokens_.fail(token.column, "expected 'in' after 'not'");
        if (is_not) tokens_.take();
        holds = is_among(left);
        if (is_not) holds = add(Operation::logical_not, token.column, {holds});
      }
      all = all ? add(Operation::logical_and, token.column, {*all, holds}) : holds;
      nodes_[*all].in_parentheses = true;
    }
  }

  // Parses the list behind `in`: [A, B] or (A, B).
  std::size_t is_among(std::size_t value) {
    const Token open = tokens_.take();
    if (!open.is("[") && !open.is("(")) tokens_.fail(open.column, "expected a list after 'in'");
    const std::string_view close = open.is("[") ? "]" : ")";
    const Nesting nesting(tokens_, depth_);
    std::size_t any = add_constant(open.column, 0);
    while (!tokens_.take_if(close)) {
      const std::size_t element = conditional();
      const std::size_t equal = add(Operation::equal, open.column, {copy(value), element});
      any = add(Operation::logical_or, open.column, {any, equal});
      if (tokens_.peek().is(close)) continue;
      tokens_.expect(",");
    }
    return any;
  }

  // Copies a tree, because a node can be part of one expression only.
  std::size_t copy(std::size_t at) {
    Node node = nodes_[at];
    const std::size_t count = operands(node.operation);
    for (std::size_t i = 0; i < count; ++i) node.children[i] = copy(node.children[i]);
    return add(node);
  }

  static std::size_t operands(Operation operation) {
    if (operation == Operation::constant || operation == Operation::variable) return 0;
    return is_unary(operation) ? 1 : operation == Operation::conditional ? 3 : 2;
  }

  std::size_t real(std::size_t at) {
    if (nodes_[at].is_real) return at;
    require_integer(at);
    return add_real(
        {.operation = Operation::to_real, .column = nodes_[at].column, .children = {at}});
  }

  std::size_t add_real(Node node) {
    node.is_real = true;
    return add(node);
  }

  std::size_t truth(std::size_t at) {
    if (!nodes_[at].is_real) return at;
    return add(
        {.operation = of_reals(Operation::truth), .column = nodes_[at].column, .children = {at}});
  }

  // Adds an operation whose operands may be reals.
  std::size_t add_python(Operation operation, std::size_t column,
                         std::array<std::size_t, 3> children) {
    if (operation == Operation::modulo && in_python_) operation = Operation::floor_modulo;
    const bool is_logical =
        operation == Operation::logical_and || operation == Operation::logical_or;
    const std::size_t count = operands(operation);
    bool any_real = gives_reals(operation);
    for (std::size_t i = 0; i < count; ++i) any_real |= nodes_[children[i]].is_real;
    if (is_logical) {
      children = {truth(children[0]), truth(children[1])};
    } else if (any_real && takes_reals(operation)) {
      for (std::size_t i = 0; i < count; ++i) children[i] = real(children[i]);
      Node node = {.operation = of_reals(operation), .column = column, .children = children};
      node.is_real = !is_boolean(operation) && operation != Operation::to_integer;
      return add(node);
    }
    return add_integers(operation, column, children);
  }

  // Parses the rest of python(EXPRESSION).
  std::size_t python(const Token& token) {
    tokens_.expect("(");
    const Nesting nesting(tokens_, depth_);
    const bool was_in_python = std::exchange(in_python_, true);
    const std::size_t inner = conditional();
    in_python_ = was_in_python;
    tokens_.expect(")");
    if (nodes_[inner].is_real && !may_be_real()) {
      tokens_.fail(token.column, "gives a fraction; int(...) drops what follows the decimal point");
    }
    nodes_[inner].in_parentheses = true;
    return inner;
  }

  // --- Grammar common to both.

  std::size_t unary() {
    const Token token = tokens_.peek();
    const bool is_sign = token.is("+") || token.is("-");
    if (!is_sign && !token.is("!") && !token.is("~")) return power();
    tokens_.take();
    const Nesting nesting(tokens_, depth_);
    if (token.is("-") && is_two_to_63(tokens_.peek()) && !tokens_.peek(1).is("**")) {
      tokens_.take();
      return add_constant(token.column, std::numeric_limits<std::int64_t>::min());
    }
    const std::size_t x = unary();
    if (token.is("-")) return add(Operation::negate, token.column, {x});
    if (token.is("!")) return add(Operation::logical_not, token.column, {x});
    if (token.is("~")) return add(Operation::complement, token.column, {x});
    if (!nodes_[x].is_real) require_integer(x);
    return x;
  }

  std::size_t power() {
    const std::size_t base = primary();
    const std::size_t column = tokens_.peek().column;
    if (!tokens_.take_if("**")) return base;
    const Nesting nesting(tokens_, depth_);
    return add(Operation::power, column, {base, unary()});
  }

  std::size_t primary() {
    const Token token = tokens_.take();
    switch (token.kind) {
      case Token::Kind::integer:
        if (is_two_to_63(token)) {
          tokens_.fail(token.column,
                       in_quotes(token.text) + " is out of the range of 64-bit integers");
        }
        return add_constant(token.column, static_cast<std::int64_t>(token.integer));
      case Token::Kind::real:
        if (may_be_real()) {
          return add_real({.column = token.column,
                           .operand = std::bit_cast<std::int64_t>(token.real),
                           .children = {}});
        }
        tokens_.fail(token.column, in_quotes(token.text) + " is not an integer");
      case Token::Kind::quoted:
        return add_word(token.column, token.text);
      case Token::Kind::name:
        return tokens_.peek().is("(") ? call(token) : name(token);
      case Token::Kind::end:
        tokens_.fail(token.column, "expected a number or a name at the end");
      case Token::Kind::symbol:
        break;
    }
    if (!token.is("(")) {
      tokens_.fail(token.column, "expected a number or a name before " + in_quotes(token.text));
    }
    const Nesting nesting(tokens_, depth_);
    const std::size_t inner = conditional();
    tokens_.expect(")");
    nodes_[inner].in_parentheses = true;
    return inner;
  }

  std::size_t name(const Token& token) {
    if (read_element_ && tokens_.peek().is("[")) {
      return add({.operation = Operation::variable,
                  .column = token.column,
                  .operand = static_cast<std::int64_t>(read_element_(token)),
                  .children = {}});
    }
    const auto found = scope_.entries_.find(token.text);
    if (found != scope_.entries_.end()) {
      const Scope::Entry& entry = found->second;
      const auto operation = entry.is_variable ? Operation::variable : Operation::constant;
      return add({.operation = operation,
                  .column = token.column,
                  .operand = entry.value,
                  .children = {},
                  .kind = entry.kind,
                  .is_real = entry.kind == Scope::Kind::real});
    }
    if (token.text == "true" || token.text == "True") return add_constant(token.column, 1);
    if (token.text == "false" || token.text == "False") return add_constant(token.column, 0);
    std::string word(token.text);
    if (is_type_keyword(word)) {
      while (tokens_.peek().kind == Token::Kind::name && is_type_keyword(tokens_.peek().text)) {
        word += " ";
        word += tokens_.take().text;
      }
    }
    if (type_size(word)) return add_word(token.column, word);
    fail_unknown(token, "name", scope_.names());
  }

  std::size_t call(const Token& token) {
    if (token.text == "python" && !scope_.contains("python")) return python(token);
    if (in_python_ && token.text == "int") return one_operand_call(token, Operation::to_integer);
    if (may_be_real()) {
      for (const expressions::Function& function : expressions::kRealFunctions) {
        if (token.text == function.name) return one_operand_call(token, function.operation);
      }
    }
    const auto known =
        std::find_if(expressions::kFunctions.begin(), expressions::kFunctions.end(),
                     [&](const expressions::Function& f) { return token.text == f.name; });
    if (known == expressions::kFunctions.end()) {
      if (scope_.contains(token.text)) {
        tokens_.fail(token.column, in_quotes(token.text) + " is not a function");
      }
      fail_unknown(token, "function",
                   texts_of(expressions::kFunctions, &expressions::Function::name));
    }
    tokens_.expect("(");
    const Nesting nesting(tokens_, depth_);
    std::vector<std::size_t> operands;
    if (!tokens_.peek().is(")")) {
      operands.push_back(conditional());
      while (tokens_.take_if(",")) operands.push_back(conditional());
    }
    tokens_.expect(")");
    if (known->operands == 0 ? operands.empty() : operands.size() != known->operands) {
      tokens_.fail(token.column,
                   std::string(token.text) + " takes " +
                       (known->operands == 0 ? "one or more" : std::to_string(known->operands)) +
                       " operands, not " + std::to_string(operands.size()));
    }
    if (known->operands == 3) {
      return choice(token.column, operands[0], operands[1], operands[2]);
    }
    if (known->operands == 2)
      return add(known->operation, token.column, {operands[0], operands[1]});
    if (known->operands == 1) return add(known->operation, token.column, {operands[0]});
    std::size_t result = operands.front();
    if (!nodes_[result].is_real) require_integer(result);
    for (std::size_t i = 1; i < operands.size(); ++i) {
      result = add(known->operation, token.column, {result, operands[i]});
    }
    nodes_[result].in_parentheses = true;  // min(a < b) is not a bare comparison.
    return result;
  }

  // Parses the rest of a function of one operand.
  std::size_t one_operand_call(const Token& token, Operation operation) {
    return add(operation, token.column, {only_operand()});
  }

  std::size_t only_operand() {
    tokens_.expect("(");
    const Nesting nesting(tokens_, depth_);
    const std::size_t inner = conditional();
    tokens_.expect(")");
    return inner;
  }

  static bool is_two_to_63(const Token& token) {
    return token.kind == Token::Kind::integer && token.integer == std::uint64_t{1} << 63;
  }

  [[noreturn]] void fail_unknown(const Token& token, const std::string& what,
                                 const std::vector<std::string>& known) const {
    tokens_.fail(token.column,
                 "unknown " + what + " " + in_quotes(token.text) + suggestion(token.text, known));
  }

  // Refuses operators without parentheses that C++ and Python read differently.
  void refuse_ambiguous(const BinaryOperator& binary, std::size_t column, std::size_t child) const {
    const Node& node = nodes_[child];
    if (in_python_ || node.in_parentheses || !is_comparison(node.operation)) return;
    if (is_comparison(binary.operation)) {
      tokens_.fail(column, "comparisons in a row need parentheses");
    }
    if (is_bitwise(binary.operation)) {
      tokens_.fail(column, in_quotes(binary.symbol) + " beside a comparison needs parentheses");
    }
  }

  bool may_be_real() const { return in_python_ || in_reals_; }

  // --- Nodes.

  std::size_t add(const Node& node) {
    if (nodes_.size() == kMaxNodes) {
      tokens_.fail(node.column, "more than " + std::to_string(kMaxNodes) + " names and operators");
    }
    nodes_.push_back(node);
    return nodes_.size() - 1;
  }

  std::size_t add_constant(std::size_t column, std::int64_t value) {
    return add({.column = column, .operand = value, .children = {}});
  }

  std::size_t add_word(std::size_t column, std::string_view word) {
    return add({.column = column,
                .operand = to_slot(std::string(word)),
                .children = {},
                .kind = Scope::Kind::word});
  }

  // Adds an operation. `children` beyond its number of operands are ignored.
  std::size_t add(Operation operation, std::size_t column, std::array<std::size_t, 3> children) {
    const bool may_be_reals = may_be_real() && operation != Operation::conditional;
    return may_be_reals ? add_python(operation, column, children)
                        : add_integers(operation, column, children);
  }

  std::size_t add_integers(Operation operation, std::size_t column,
                           std::array<std::size_t, 3> children) {
    const std::size_t count = operands(operation);
    const bool compares_words =
        (operation == Operation::equal || operation == Operation::not_equal) &&
        (is_word(children[0]) || is_word(children[1]));
    for (std::size_t i = 0; i < count; ++i) {
      if (operation == Operation::size_of) {
        require_word(children[i], "sizeof takes a type");
      } else if (compares_words) {
        require_word(children[i], "a word is compared with a number");
      } else if (operation != Operation::conditional || i == 0 || !nodes_[children[i]].is_real) {
        require_integer(children[i]);
      }
    }
    return add({.operation = operation, .column = column, .children = children});
  }

  bool is_word(std::size_t node) const { return nodes_[node].kind == Scope::Kind::word; }

  void require_integer(std::size_t node) const {
    if (is_word(node)) tokens_.fail(nodes_[node].column, "a word where a number is needed");
    if (nodes_[node].is_real) {
      tokens_.fail(nodes_[node].column, "a fraction where an integer is needed");
    }
  }

  void require_word(std::size_t node, const char* message) const {
    if (!is_word(node)) tokens_.fail(nodes_[node].column, message);
  }

  bool is_constant(std::size_t node) const { return nodes_[node].operation == Operation::constant; }

  // --- Folding. `is_certain`: every evaluation reaches the node, so that its faults can be
  // reported now.

  void fold(std::size_t at, bool is_certain) {
    const Operation operation = nodes_[at].operation;
    const std::array<std::size_t, 3> children = nodes_[at].children;
    switch (operation) {
      case Operation::constant:
      case Operation::variable:
        return;
      case Operation::conditional: {
        fold(children[0], is_certain);
        const bool is_decided = is_constant(children[0]);
        const bool condition = is_decided && nodes_[children[0]].operand != 0;
        if (!is_decided || condition) fold(children[1], is_certain && is_decided);
        if (!is_decided || !condition) fold(children[2], is_certain && is_decided);
        if (is_decided) nodes_[at] = nodes_[condition ? children[1] : children[2]];
        return;
      }
      case Operation::logical_and:
      case Operation::logical_or: {
        const bool deciding = operation == Operation::logical_or;
        fold(children[0], is_certain);
        if (!is_constant(children[0])) return fold(children[1], false);
        if ((nodes_[children[0]].operand != 0) == deciding) return become(at, deciding ? 1 : 0);
        nodes_[at].operation = Operation::truth;
        nodes_[at].children = {children[1]};
        return fold(at, is_certain);
      }
      default:
        break;
    }
    std::int64_t result = 0;
    const char* fault = nullptr;
    fold(children[0], is_certain);
    const std::int64_t left = nodes_[children[0]].operand;
    if (is_unary(operation)) {
      if (!is_constant(children[0])) return;
      fault = calculate(operation, left, left, result);
    } else {
      fold(children[1], is_certain);
      if (!is_constant(children[0]) || !is_constant(children[1])) return;
      fault = calculate(operation, left, nodes_[children[1]].operand, result);
    }
    if (fault == nullptr) return become(at, result);
    if (!is_certain) return;
    const std::int64_t right = is_unary(operation) ? 0 : nodes_[children[1]].operand;
    tokens_.fail(nodes_[at].column, describe(fault, operation, left, right));
  }

  void become(std::size_t at, std::int64_t value) {
    nodes_[at] = {.column = nodes_[at].column,
                  .operand = value,
                  .children = {},
                  .is_real = nodes_[at].is_real};
  }

  // --- From tree to code.

  using Operand = Expression::Operand;
  using Place = Expression::Place;

  // Appends an instruction and returns its number.
  static std::size_t emit(Operation operation, std::size_t result, Operand left, Operand right,
                          const Node& node, Expression& expression) {
    expression.code_.push_back({.operation = static_cast<std::uint8_t>(operation),
                                .left_place = left.place,
                                .right_place = right.place,
                                .column = static_cast<std::uint16_t>(node.column),
                                .result = static_cast<std::uint16_t>(result),
                                .left = left.index,
                                .right = right.index});
    return expression.code_.size() - 1;
  }

  static void move_to(std::size_t result, Operand from, const Node& node, Expression& expression) {
    if (from.place == Place::temporary && from.index == result) return;
    emit(Operation::copy, result, from, from, node, expression);
  }

  // Writes the code of a node and returns where its value will lie: leaves stay where they are, all
  // other values go to temporary `free`. Temporaries from `free` on may be used.
  Operand write(std::size_t at, std::size_t free, Expression& expression) const {
    const Node& node = nodes_[at];
    const Operand result = {Place::temporary, static_cast<std::uint32_t>(free)};
    const auto land_here = [&](std::size_t jump) {
      expression.code_[jump].right = static_cast<std::uint32_t>(expression.code_.size());
    };
    switch (node.operation) {
      case Operation::variable:
        expression.variables_.push_back(static_cast<std::size_t>(node.operand));
        return {Place::slot, static_cast<std::uint32_t>(node.operand)};
      case Operation::constant:
        expression.constants_.push_back(node.operand);
        return {Place::constant, static_cast<std::uint32_t>(expression.constants_.size() - 1)};
      case Operation::conditional: {
        const Operand condition = write(node.children[0], free, expression);
        const std::size_t to_no =
            emit(Operation::jump_if_zero, free, condition, condition, node, expression);
        move_to(free, write(node.children[1], free, expression), node, expression);
        const std::size_t to_end =
            emit(Operation::jump, free, condition, condition, node, expression);
        land_here(to_no);
        move_to(free, write(node.children[2], free, expression), node, expression);
        land_here(to_end);
        return result;
      }
      case Operation::logical_and:
      case Operation::logical_or: {
        const Operand left = write(node.children[0], free, expression);
        const std::size_t to_end = emit(node.operation, free, left, left, node, expression);
        const Operand right = write(node.children[1], free, expression);
        if (is_boolean(nodes_[node.children[1]].operation)) {
          move_to(free, right, node, expression);
        } else {
          emit(Operation::truth, free, right, right, node, expression);
        }
        land_here(to_end);
        return result;
      }
      default:
        break;
    }
    const Operand left = write(node.children[0], free, expression);
    if (is_unary(node.operation)) {
      emit(node.operation, free, left, left, node, expression);
      return result;
    }
    const std::size_t next_free = left.place == Place::temporary ? free + 1 : free;
    const Operand right = write(node.children[1], next_free, expression);
    emit(node.operation, free, left, right, node, expression);
    return result;
  }

  TokenStream& tokens_;
  const Scope& scope_;
  std::vector<Node> nodes_;
  std::size_t depth_ = 0;
  bool in_python_ = false;
  bool in_reals_;
  Expression::ElementReader read_element_;
};

Expression Expression::compile(TokenStream& tokens, const Scope& scope,
                               const ElementReader& read_element) {
  return ExpressionParser(tokens, scope, false, read_element).expression();
}

Expression Expression::compile(std::string_view text, const Scope& scope) {
  TokenStream tokens(text);
  Expression expression = compile(tokens, scope);
  tokens.expect_end();
  return expression;
}

Expression Expression::compile_real(std::string_view text, const Scope& scope) {
  TokenStream tokens(text);
  Expression expression = ExpressionParser(tokens, scope, true).expression();
  tokens.expect_end();
  return expression;
}

}  // namespace smemtune
