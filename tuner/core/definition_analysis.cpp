#include "tuner/core/definition_arithmetic.h"
#include "tuner/core/definition_evaluation.h"

#include <algorithm>
#include <set>
#include <utility>

namespace smemtune {

Definition::Analysis::Analysis(Program& program, std::vector<ScalarType> types,
                               ScalarType output_type)
    : types_(std::move(types)) {
  choose(program.root);
  if (!is_floating(output_type)) find_whole(program.root);
  find_columns(program.root);
  find_inner_loops(program.root, false);
  find_row_operations(program);
}

bool Definition::Analysis::compare(Operation comparison, const Node& left, const Node& right) {
  if (left.is_whole && right.is_whole) return holds(comparison, left.whole, right.whole);
  return holds(comparison, left.number, right.number);
}

/// Replaces comparisons of numbers, and conditionals whose condition is a number, by what they
/// give.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
void Definition::Analysis::choose(Node& node) {
  for (Node& operand : node.operands) choose(operand);
  const auto is_number = [](const Node& one) { return one.operation == Operation::constant; };
  if (is_comparison(node.operation) && std::ranges::all_of(node.operands, is_number)) {
    node.whole = compare(node.operation, node.operands[0], node.operands[1]) ? 1 : 0;
    node.number = static_cast<double>(node.whole);
    node.is_whole = true;
    node.operation = Operation::constant;
    node.operands.clear();
  } else if (node.operation == Operation::conditional && is_number(node.operands.front())) {
    const Node& condition = node.operands.front();
    const bool is_true = condition.is_whole ? condition.whole != 0 : condition.number != 0;
    Node chosen = std::move(node.operands[is_true ? 1 : 2]);
    node = std::move(chosen);
  }
}

/// Finds which parts of an integer output's definition are whole numbers.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
void Definition::Analysis::find_whole(Node& node) const {
  for (Node& operand : node.operands) find_whole(operand);
  const auto are_whole = [&node](std::size_t first) {
    return std::all_of(node.operands.begin() + static_cast<std::ptrdiff_t>(first),
                       node.operands.end(), [](const Node& one) { return one.is_whole; });
  };
  switch (node.operation) {
    case Operation::constant:
      return;
    case Operation::variable:
    case Operation::logical_not:
    case Operation::logical_and:
    case Operation::logical_or:
      node.is_whole = true;
      return;
    case Operation::scalar:
    case Operation::square_root:
    case Operation::exponential:
    case Operation::logarithm:
    case Operation::sine:
    case Operation::cosine:
    case Operation::tangent:
    case Operation::hyperbolic_tangent:
    case Operation::error_function:
    case Operation::power:
    case Operation::divide:
      return;
    case Operation::element:
      node.is_whole = !is_floating(types_[node.slot]);
      return;
    case Operation::round_down: {
      Node& rounded = node.operands.front();
      const auto whole = [](const Node& one) { return one.is_whole; };
      if (rounded.operation == Operation::divide) {
        rounded.is_whole = std::all_of(rounded.operands.begin(), rounded.operands.end(), whole);
      }
      break;
    }
    default:
      break;
  }
  const bool is_choice = node.operation == Operation::conditional;
  node.is_whole = is_comparison(node.operation) || are_whole(is_choice ? 1 : 0);
}

/// Finds the loops that can be evaluated by columns.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
void Definition::Analysis::find_columns(Node& node) const {
  for (Node& operand : node.operands) find_columns(operand);
  if (node.operation < Operation::sum) return;
  const std::optional<std::uint64_t> body = operations_of_column(node.operands.front());
  node.operations_per_turn = body ? 1 + *body : 0;
  if (body) find_even(node.operands.front(), node.slot);
}

/// Numbers the loops that lie inside others, and finds what their values depend on.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
void Definition::Analysis::find_inner_loops(Node& node, bool is_inside) {
  const bool is_loop = node.operation >= Operation::sum;
  if (is_loop && is_inside) {
    const std::set<std::size_t> read = slots_read(node);
    node.outer_slots.assign(read.begin(), read.end());
    node.inner_loop = inner_loops_++;
  }
  for (Node& operand : node.operands) find_inner_loops(operand, is_inside || is_loop);
}

/// Returns the slots, set outside of the node, that its value depends on.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
std::set<std::size_t> Definition::Analysis::slots_read(const Node& node) {
  std::set<std::size_t> read;
  if (node.operation == Operation::variable) read.insert(node.slot);
  for (const Expression& index : node.indices) {
    for (const std::size_t slot : index.variables()) read.insert(slot);
  }
  for (const std::size_t slot : node.index_slots) {
    if (slot != Node::kNoSlot) read.insert(slot);
  }
  for (const Node& operand : node.operands) read.merge(slots_read(operand));
  for (const std::size_t slot : node.gathered_slots) read.erase(slot);
  for (const Node& gathered : node.gathered) read.merge(slots_read(gathered));
  if (node.operation >= Operation::sum) read.erase(node.slot);
  return read;
}

/// Finds out whether elements that differ in the last index only can be evaluated together.
void Definition::Analysis::find_row_operations(Program& program) {
  if (program.output_dimensions == 0) return;
  const std::optional<std::uint64_t> body = operations_of_column(program.root);
  if (!body) return;
  operations_of_row_ = 1 + *body;
  find_even(program.root, program.output_dimensions - 1);
}

/// Finds the elements whose indices grow by constants with the index in the slot.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
void Definition::Analysis::find_even(Node& node, std::size_t slot) {
  for (Node& operand : node.operands) find_even(operand, slot);
  node.is_even = true;
  for (std::size_t d = 0; d < node.indices.size(); ++d) {
    const bool is_slot = node.index_slots[d] != Node::kNoSlot;
    node.is_even = node.is_even && (is_slot || node.indices[d].is_affine_in(slot));
  }
  node.is_even = node.is_even && std::ranges::none_of(node.gathered, [slot](const Node& one) {
                   return slots_read(one).contains(slot);
                 });
}

bool Definition::Analysis::is_positive_number(const Node& node) {
  return node.operation == Operation::constant && node.is_whole && node.whole > 0;
}

// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
bool Definition::Analysis::gathers_integers(const Node& node) const {
  return std::ranges::all_of(node.gathered, [this](const Node& one) {
    return !is_floating(types_[one.slot]) && gathers_integers(one);
  });
}

/// Returns the operations that value() spends on a node without loops and choices; nullopt for
/// others, and for what may fail for a reason other than an index.
// NOLINTNEXTLINE(misc-no-recursion): at most as deep as the parser allowed.
std::optional<std::uint64_t> Definition::Analysis::operations_of_column(const Node& node) const {
  const Operation operation = node.operation;
  const bool is_leaf = operation <= Operation::element;
  const bool divides = operation == Operation::divide || operation == Operation::modulo;
  const bool may_divide_by_0 = node.is_whole && divides && !is_positive_number(node.operands[1]);
  if (!gathers_integers(node) || operation == Operation::logical_not || is_comparison(operation) ||
      operation >= Operation::logical_and || may_divide_by_0) {
    return std::nullopt;
  }
  std::uint64_t sum = is_leaf ? 0 : 1;
  for (const Node& operand : node.operands) {
    const std::optional<std::uint64_t> its = operations_of_column(operand);
    if (!its) return std::nullopt;
    sum += *its;
  }
  return sum;
}

}  // namespace smemtune
