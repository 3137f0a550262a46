#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace smemtune {

/// Times of the same variants in several cases: of configurations on several devices, or for
/// several problems.
struct TimeTable {
  /// Time of each variant in each case, indexed by case, then variant: infinity if the variant does
  /// not run there, NaN if the time is not known.
  std::vector<std::vector<double>> ms;
  std::vector<double> best_ms;  ///< Best time of each case, which may be of any variant or of none.

  std::size_t cases() const { return ms.size(); }
  std::size_t variants() const { return ms.empty() ? 0 : ms.front().size(); }

  /// Returns the share of the case's optimum that a variant reaches, from 0 (does not run) to 1;
  /// NaN if it is not known. A share above 1 becomes 1: a screened time may be below the best's
  /// time in the finals.
  double share(std::size_t in, std::size_t variant) const;
  /// Returns -log(share), at least 0; infinity if the variant does not run or its time is not
  /// known.
  double loss(std::size_t in, std::size_t variant) const;
};

/// A set of variants, of which each case uses one.
struct Portfolio {
  std::vector<std::size_t> choice;  ///< For each case, the variant that loses least there.
  double mean_percent = 0;          ///< Geometric mean of the losses against the cases' bests.
  double worst_percent = 0;         ///< Largest loss of any case.
  /// True if no other set of this size loses less; otherwise no exchange of one variant helps.
  bool is_exact = true;

  /// Returns the variants that are chosen by some case, ascending.
  std::vector<std::size_t> variants() const;
};

/// Computes the losses if every case uses the variant that `choice` names.
Portfolio portfolio_of(const TimeTable& table, std::vector<std::size_t> choice);

/// Returns the set of at most `most` variants that together lose least in the geometric mean; among
/// equals, the one that loses least in its worst case. All sets are tried if there are few;
/// otherwise variants are added greedily and then exchanged as long as that helps. Nullopt if some
/// case cannot run with any of the variants.
std::optional<Portfolio> best_portfolio(const TimeTable& table, std::size_t most);

/// Returns the variant whose worst share is the largest; among equals, the one that loses least in
/// the mean; nullopt if no variant runs everywhere.
std::optional<std::size_t> least_worst(const TimeTable& table);

/// Returns the harmonic mean of a variant's shares, 0 if it does not run in every case (S. J.
/// Pennycook, J. D. Sewall and V. W. Lee: Implications of a metric for performance portability.
/// Future Generation Computer Systems 92, 2019).
double performance_portability(const TimeTable& table, std::size_t variant);

/// Returns the variant with the largest performance_portability(); nullopt if no variant runs
/// everywhere.
std::optional<std::size_t> most_portable(const TimeTable& table);

}  // namespace smemtune
