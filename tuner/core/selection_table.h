#pragma once

#include "tuner/core/value.h"

#include <cstddef>
#include <string>
#include <vector>

namespace smemtune {

/// A row of a table for selection.h: one configuration on one device for one problem.
struct SelectionRow {
  std::string measured;  ///< The same text for rows of the same device and problem.
  std::string kernel;
  std::string configuration;  ///< Its key.
  double time_ms = 0;         ///< 0 if it does not run.
  std::size_t of = 0;         ///< Number of what the caller has made the row from.

  int number = 0;  ///< The configuration's number: see select_measured().
  /// See select_measured(): by the fastest of all kernels, and by the fastest of its kernel.
  double to_best = 1;
  double to_kernel_best = 1;
};

/// Computes numbers and ratios, and brings equal configurations of a kernel together. The order is
/// otherwise kept; that of the first row of each configuration decides.
std::vector<SelectionRow> selection_table(std::vector<SelectionRow> rows);

/// Returns how far one problem is from another: the product of selection.h's size_ratio() of all sizes
/// and type_ratio() of the words that differ. 1 for equal problems; 0 for problems that cannot be
/// compared because their names differ, or words that are no types.
double size_ratio(const Problem& one, const Problem& other);

}  // namespace smemtune
