#pragma once

#include "tuner/core/definition_program.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace smemtune {

/// Finds, before a program is evaluated, which of its parts are whole numbers, which can be computed
/// for several indices at once, and which loops lie inside others.
class Definition::Analysis {
 public:
  /// Sets what the program's nodes leave to be set before evaluation. `types`: those of
  /// Program::arrays.
  Analysis(Program& program, std::vector<ScalarType> types, ScalarType output_type);

  /// Returns the number of loops that have an `inner_loop`.
  std::size_t inner_loops() const { return inner_loops_; }
  /// Returns the operations of each element where elements that differ in the last index only can
  /// be evaluated together; otherwise 0.
  std::uint64_t operations_of_row() const { return operations_of_row_; }

  /// Returns true for a number that a whole number may be divided by.
  static bool is_positive_number(const Node& node);

 private:
  using Operation = DefinitionOperation;

  static bool compare(Operation comparison, const Node& left, const Node& right);
  static void choose(Node& node);
  void find_whole(Node& node) const;
  void find_columns(Node& node) const;
  void find_inner_loops(Node& node, bool is_inside);
  void find_row_operations(Program& program);
  static std::set<std::size_t> slots_read(const Node& node);
  static void find_even(Node& node, std::size_t slot);
  bool gathers_integers(const Node& node) const;
  std::optional<std::uint64_t> operations_of_column(const Node& node) const;

  std::vector<ScalarType> types_;
  std::size_t inner_loops_ = 0;
  std::uint64_t operations_of_row_ = 0;
};

}  // namespace smemtune
