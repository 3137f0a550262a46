#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace smemtune {

/// Times of the same variants in several cases: of configurations on devices, or for problems.
struct TimeTable {
  /// By case and variant: infinity for one that does not run there, not a number where that is not
  /// known.
  std::vector<std::vector<double>> ms;
  std::vector<double> best_ms;  ///< What counts as a case's best; any variant's or none's.

  std::size_t cases() const { return ms.size(); }
  std::size_t variants() const { return ms.empty() ? 0 : ms.front().size(); }

  /// The share of the case's optimum that a variant reaches there, from 0 (does not run) to 1; not
  /// a number where it is not known. A screened time may be below what finals found of the best.
  double share(std::size_t in, std::size_t variant) const;
  /// -log(share), from 0 on; infinity where the variant does not run or that is not known.
  double loss(std::size_t in, std::size_t variant) const;
};

/// Variants that share out the cases among them.
struct Portfolio {
  std::vector<std::size_t> choice;  ///< By case, the variant that loses least there.
  double mean_percent = 0;          ///< Geometric mean of what is lost to the cases' bests...
  double worst_percent = 0;         ///< ... and the most.
  bool is_exact = true;             ///< No other so many lose less; else no exchange of one helps.

  std::vector<std::size_t> variants() const;  ///< That are chosen at all, ascending.
};

/// What is lost where every case has the variant that `choice` names.
Portfolio portfolio_of(const TimeTable& table, std::vector<std::size_t> choice);

/// The `most` variants, or fewer, that together lose least in the geometric mean, of equals least
/// at worst. Every set is tried where they are few; otherwise they are added greedily and then
/// exchanged as long as that helps. Nullopt where not even all together run in every case.
std::optional<Portfolio> best_portfolio(const TimeTable& table, std::size_t most);

/// What is lost in cases that a portfolio was not chosen for.
struct HeldBack {
  double mean_percent = 0;
  double worst_percent = 0;
  std::size_t cases = 0;  ///< In which what would be run was measured: the others are left out.

  bool operator==(const HeldBack&) const = default;
};

/// For each case in turn, the portfolio of the others is chosen, and the case has the variant of
/// the one that `instead` names (nullopt: none). Nullopt where no case can be said.
std::optional<HeldBack> held_back(const TimeTable& table, std::size_t most,
                                  const std::vector<std::optional<std::size_t>>& instead);

/// The variant whose worst share is the largest, of equals the one that loses least in the mean;
/// nullopt where none runs everywhere.
std::optional<std::size_t> least_worst(const TimeTable& table);

/// The harmonic mean of a variant's shares, 0 where it does not run in every case (S. J. Pennycook,
/// J. D. Sewall and V. W. Lee: Implications of a metric for performance portability. Future
/// Generation Computer Systems 92, 2019).
double performance_portability(const TimeTable& table, std::size_t variant);

/// The variant of which that is the largest.
std::optional<std::size_t> most_portable(const TimeTable& table);

}  // namespace smemtune
