#pragma once

#include "tuner/core/measurement.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace smemtune {

/// Options of a race; the numbers are those that a simulation of drifting clocks and outliers found
/// good (a fixed number of samples cannot cure drift, interleaving does).
struct RaceOptions {
  double keep_within_percent = 12;  ///< Distance from the best screen median...
  std::size_t keep_at_least = 48;   ///< ... and so many by rank at least...
  std::size_t keep_at_most = 128;   ///< ... and at most.
  /// Variants whose screen median is this many times that of the middle finalist are not raced.
  double hopeless_times = 2;
  std::size_t first_rounds = 4;  ///< Rounds before any variant may be dropped.
  std::size_t check_every = 4;   ///< Rounds between decisions.
  std::size_t max_rounds = 60;
  double drop_confidence = 0.99;  ///< One-sided, Bonferroni over those still in.
  double tie_percent = 0.5;
  std::size_t finalists = 8;
  std::size_t final_rounds = 60;  ///< Rounds of each of the two blocks, at most.
};

/// Returns how much slower the first is, round by round; nullopt if no round has both.
std::optional<Slowdown> paired_difference(const std::vector<double>& slower_ms,
                                          const std::vector<double>& faster_ms);

/// Finds the fastest of several variants on a machine that drifts. Each round measures every
/// variant still in the race once, in random order; times are compared pairwise within rounds
/// (Wilcoxon's signed ranks). Finals follow in two blocks, with the leader measured against itself;
/// they end once it is known of each finalist whether it is slower than the best or tied with it.
/// Pure: the caller measures.
///
/// Decisions depend on the variants' times, not on their numbers (but for equal screen times).
class Race {
 public:
  /// `screen_ms[i]`: the screen's median of variant i. `always`: variants that reach the finals
  /// whatever happens (defaults, a stored best). REQUIRES: screen_ms is not empty.
  Race(std::vector<double> screen_ms, std::vector<std::size_t> always, const RaceOptions& options,
       std::uint64_t seed);

  /// Returns the variants to measure now, in this order, once each; none when the race is over. In
  /// finals the leader may come twice: the second time is its A/A twin's.
  std::vector<std::size_t> next_round();

  /// Takes the times of the variants that next_round() returned, in its order; NaN means that the
  /// variant failed and is out.
  void add_round(std::span<const double> times_ms);

  /// Rounds of the finals between two looks at what is known of the finalists. Those that are slower
  /// are not measured again.
  static constexpr std::size_t kRoundsPerLook = 12;

  /// Sets the most rounds of each block of the finals. REQUIRES: no more than both blocks' were
  /// measured.
  void set_final_rounds(std::size_t rounds);

  /// Begins the finals with the variants that are ahead now.
  void start_finals();

  /// Takes a variant out of the standings: its result was found wrong, though it has times.
  void disqualify(std::size_t variant);

  /// Ends the finals with the rounds that were measured; what they cannot tell apart is tied.
  /// REQUIRES: two rounds of the finals at least.
  void cut_finals();

  bool in_finals() const;
  std::size_t final_rounds() const;  ///< Rounds of the finals measured so far.
  /// Estimates the samples still needed, assuming that the next decision leaves only finalists; a
  /// close race takes some rounds more.
  std::size_t samples_left() const;

  struct Standing {
    std::size_t variant = 0;
    std::vector<double> samples_ms;  ///< The samples of its last stage.
    bool final = false;              ///< Whether it reached the finals.
    bool tied = false;               ///< Whether it is statistically tied with the winner.
    double slower_percent = 0;       ///< Center of the paired differences to the winner.
  };
  /// Returns all variants that were raced and did not fail, fastest first: the winner (tied with
  /// itself), its ties in the order of their medians, the others. A variant is ranked below the
  /// winner only where it is slower by tie_percent (or the noise, if larger), with drop_confidence
  /// over all pairs, and in each of the two blocks of the finals.
  std::vector<Standing> standings() const;

  /// Returns how far the leader's two series of the finals lie apart, in per cent; nullopt before
  /// the finals.
  std::optional<double> noise_percent() const;

 private:
  struct Variant {
    double screen_ms = 0;
    bool failed = false;
    std::vector<double> race_ms;   ///< Times of the rounds before the finals.
    std::vector<double> final_ms;  ///< Times of the rounds of the finals, both blocks.
  };

  /// Drops variants that are slower than the leader. Returns true if all others are tied with it.
  bool drop_slower();
  /// Returns log(time / median of its round), by variant and round. REQUIRES: all have times of the
  /// same rounds.
  std::vector<std::vector<double>> residuals(const std::vector<std::size_t>& variants,
                                             std::vector<double> Variant::*times) const;
  /// Has finalists that are slower than the best by more than a tie wait for the end of the finals.
  /// Returns true if it is known of all others whether they are slower at all, or tied.
  bool leave_behind();
  /// Returns the share of wrong verdicts that one pair of so many finalists may have.
  double tail_of_pairs(std::size_t ranked) const;
  /// Returns the difference that counts as a tie: the noise, if larger than options_.tie_percent.
  double tie_percent() const;
  /// Returns how far nearly all times (95 %) of the contenders are at most from what is usual for
  /// their variant and round, in percent. REQUIRES: they were measured.
  double spread_of_contenders(std::vector<double> Variant::*times) const;
  void sort_by_center(std::vector<std::size_t>& variants,
                      std::vector<double> Variant::*times) const;
  Standing compare(std::size_t i, const Variant& winner, std::vector<double> Variant::*times,
                   std::size_t ranked) const;

  std::vector<Variant> variants_;
  RaceOptions options_;
  std::mt19937_64 random_;
  std::vector<std::size_t> contenders_;
  std::vector<std::size_t> always_;  ///< Join the contenders in the finals.
  std::vector<std::size_t> behind_;  ///< Have some rounds of the finals only.
  std::vector<std::size_t> round_;   ///< The variants that next_round() returned last.
  std::size_t race_rounds_ = 0;
  std::optional<double> spread_percent_;  ///< Among the contenders, at the latest decision.
  std::size_t final_rounds_ = 0;
  bool in_finals_ = false;
  std::optional<std::size_t> twin_of_;    ///< The variant that is measured twice (A/A).
  std::vector<double> twin_differences_;  ///< log(second / first) by final round.
};

}  // namespace smemtune
