#pragma once

#include "tuner/core/portfolio.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace smemtune {

/// A variant that does not run counts as this many times as slow as the best.
constexpr double kMostToCount = 10;

/// Times of the same configurations for problems of several sizes.
struct SizedTimes {
  TimeTable table;  ///< Its cases are the problems.
  std::vector<Problem> problems;
  /// Variants that are default values; the first is the one to compare with.
  std::vector<std::size_t> defaults;
};

/// Returns the variant that selection.h selects for a problem where only these cases and variants
/// were measured; nullopt where it knows of none that should be faster than default values.
std::optional<std::size_t> selected_variant(const SizedTimes& times, const Problem& problem,
                                            std::span<const std::size_t> cases,
                                            std::span<const std::size_t> variants);

/// Returns the variants that are the best of one of these cases, and those that are default values.
std::vector<std::size_t> candidates_of(const SizedTimes& times, std::span<const std::size_t> cases);

/// Returns the table of these variants with each time that is not known replaced by what selection.h
/// predicts from the variant's times for the other cases. Other variants do not run in it.
TimeTable with_predicted_times(const SizedTimes& times, std::span<const std::size_t> variants);

/// Losses for sizes that a choice knew nothing of.
struct HeldBack {
  double mean_percent = 0;  ///< Geometric mean of the losses against the cases' bests.
  double worst_percent = 0;
  std::size_t cases = 0;  ///< Number of sizes counted: those where what was chosen was measured.
  /// Number of these where the default values were measured as well, and where what was chosen was
  /// slower than them by more than 1 %.
  std::size_t with_default = 0;
  std::size_t slower = 0;
  double worst_to_default_percent = 0;  ///< The largest such loss; 0 if there is none.

  bool operator==(const HeldBack&) const = default;
};

/// Chooses a variant for a case from what is known of other cases; nullopt for none.
using ChooseForCase = std::function<std::optional<std::size_t>(
    std::size_t held_back, const std::vector<std::size_t>& known)>;

/// Computes what `choose` loses for each case in turn if it knows only of those that are farther
/// away than so many doublings of a size. Nullopt if no case can be counted.
std::optional<HeldBack> held_back(const SizedTimes& times, double doublings,
                                  const ChooseForCase& choose);

/// Chooses the best of the nearest problem: among equally near ones the fastest.
ChooseForCase nearest_best(const SizedTimes& times);
/// Chooses the default values.
ChooseForCase default_values(const SizedTimes& times);
/// Chooses as selection.h does, from the best portfolio of at most `most` configurations for the
/// known cases (0: from the bests of all of them) and the default values.
ChooseForCase selection_of(const SizedTimes& times, std::size_t most);

}  // namespace smemtune
