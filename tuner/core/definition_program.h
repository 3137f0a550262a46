#pragma once

#include "tuner/core/definition.h"
#include "tuner/core/expression_operations.h"
#include "tuner/core/whole.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smemtune {

struct Definition::Node {
  expressions::Operation operation = expressions::Operation::constant;
  std::size_t column = 0;
  double number = 0;
  Whole whole = 0;  ///< Value of a number as an integer, if `is_whole`.
  /// True for an integral number; for other nodes, set before evaluation.
  bool is_whole = false;
  std::size_t slot = 0;             ///< Slot of an index; number of an array or scalar.
  std::vector<Expression> indices;  ///< Indices of an array element; bound of a loop.
  /// For each index of an array element: its slot, if it is just the index of a loop or of the left
  /// side, otherwise kNoSlot. Most indices have a slot and need no expression.
  std::vector<std::size_t> index_slots;
  static constexpr std::size_t kNoSlot = SIZE_MAX;
  /// Whether the elements that successive turns of the loop read lie equally far apart.
  bool is_even = false;
  std::vector<Node> operands;
  bool in_parentheses = false;
  /// Elements of integer arrays that `indices` read, `idx[i]` of `in[idx[i]]`, and the slots in
  /// which they expect them.
  std::vector<Node> gathered;
  std::vector<std::size_t> gathered_slots;
  /// Operations of each turn of a loop whose body has neither loops nor choices, so that it can be
  /// evaluated for several turns at once; otherwise 0. Set before evaluation.
  std::uint64_t operations_per_turn = 0;
  /// Number of a loop that lies inside another one, and the slots that its value depends on: while
  /// these stay as they are, it is evaluated once. Set before evaluation.
  std::size_t inner_loop = kNoSlot;
  std::vector<std::size_t> outer_slots;
};

struct Definition::Program {
  std::string text;
  std::string output;
  std::size_t output_dimensions = 0;
  std::size_t slots = 0;  ///< Number of slots: the indices of the left side, then those of loops.
  std::vector<std::string> arrays;
  std::vector<std::size_t> dimensions;  ///< Number of dimensions of each array.
  std::vector<std::string> scalars;
  Node root;
};

}  // namespace smemtune
