#pragma once

#include "tuner/core/definition.h"
#include "tuner/core/whole.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smemtune {

/// What a node of a definition does.
enum class DefinitionOperation : std::uint8_t {
  // Leaves.
  number,
  index,
  scalar,
  element,
  // Of one operand.
  negate,
  logical_not,
  square_root,
  exponential,
  logarithm,
  absolute,
  round_down,
  // Of two operands.
  add,
  subtract,
  multiply,
  divide,
  remainder,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  minimum,
  maximum,
  // Lazy.
  logical_and,
  logical_or,
  conditional,
  // Over an index from 0 to below a bound.
  sum,
  largest,
  smallest,
};

constexpr bool is_comparison(DefinitionOperation operation) {
  return operation >= DefinitionOperation::less && operation <= DefinitionOperation::not_equal;
}

struct Definition::Node {
  DefinitionOperation operation = DefinitionOperation::number;
  std::size_t column = 0;
  double number = 0;
  Whole whole = 0;                  ///< The same, where `is_whole`.
  bool is_whole = false;            ///< Of a number: it is no fraction; else known when evaluated.
  std::size_t slot = 0;             ///< Of an index; the number of an array or scalar.
  std::vector<Expression> indices;  ///< Of an element; of a loop, its bound.
  /// Of an element, for each index: the slot, where it is nothing but the index of a loop or of the
  /// left side; else kNoSlot. Most are, and need no expression.
  std::vector<std::size_t> index_slots;
  static constexpr std::size_t kNoSlot = SIZE_MAX;
  std::vector<Node> operands;
  bool in_parentheses = false;
};

struct Definition::Program {
  std::string text;
  std::string output;
  std::size_t output_dimensions = 0;
  std::size_t slots = 0;  ///< Indices of the left side, then those of loops.
  std::vector<std::string> arrays;
  std::vector<std::size_t> dimensions;  ///< Of the arrays.
  std::vector<std::string> scalars;
  Node root;
};

}  // namespace smemtune
