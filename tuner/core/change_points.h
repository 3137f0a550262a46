#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace smemtune {

/// A place in a series of positive numbers from which on they are others than before.
struct ChangePoint {
  std::size_t first = 0;  ///< Index of the first number that is after it.
  double before = 0;      ///< Geometric mean from the change before it, or the beginning.
  double after = 0;       ///< ... and to the next one, or the end.
  double p = 0;           ///< Probability of such a step, or a larger one, by chance alone.

  double percent() const { return 100 * (after / before - 1); }
};

/// A series needs so many numbers before a step in it can be told from chance.
inline constexpr std::size_t kLeastForAChange = 11;

/// Returns the changes of a series, in its order: it is split where the means of the logarithms
/// differ most for their number, when that difference is one in 200 or less among random orders of
/// the same numbers (a permutation test, which holds whatever the numbers' distribution) and is at
/// least `least_percent`; then its parts are. A series whose numbers come in random order is split
/// in one case of 200. The same series always gives the same answer.
std::vector<ChangePoint> change_points(std::span<const double> series, double least_percent = 1);

}  // namespace smemtune
