#pragma once

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
  bool is_default = false;    ///< Its kernel's default values.
  /// The default values of the kernel that select() falls back to where no kernel is asked for.
  bool is_fallback = false;
  std::size_t of = 0;  ///< Number of what the caller has made the row from.

  int number = 0;  ///< The configuration's number: see select_measured().
  /// See select_measured(): by the fallback of all kernels, and by the default values of its kernel.
  double to_default = 1;
  double to_kernel_default = 1;
};

/// Computes numbers and ratios, and brings equal configurations of a kernel together. The order is
/// otherwise kept; that of the first row of each configuration decides.
std::vector<SelectionRow> selection_table(std::vector<SelectionRow> rows);

}  // namespace smemtune
