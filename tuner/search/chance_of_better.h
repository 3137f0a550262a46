#pragma once

#include <cstdint>
#include <optional>

namespace smemtune {

/// How likely it is that a search which ends before everything was evaluated has left something
/// that is more than 1 % faster than its best.
///
/// Of a strategy that does not learn, what was evaluated is no better than what was not: after n of
/// N it is 1 - n / N. One that learns finds most of what it finds early: the longer it went on in
/// vain since the last gain, its t-th evaluation, the likelier it is done. But some spaces hide
/// their best where nothing that is known leads to it, which no number of evaluations shows: taken
/// together (1 / 5 + 4 / 5 * (t + 10) / n) * (1 - n / N). The numbers follow from replaying six
/// measured spaces, where it says a little too much rather than too little (bench/RESULTS.md).
class ChanceOfBetter {
 public:
  /// What counts as better: this many times as fast.
  static constexpr double kGain = 1.01;

  /// An evaluation, in the order told; nullopt: it failed.
  void tell(std::optional<double> time_ms);

  std::uint64_t evaluations() const { return evaluations_; }

  /// Which evaluation was the last that was more than 1 % faster than all before it; 0: none.
  std::uint64_t last_gain() const { return last_gain_; }

  /// Where there are `all` configurations. Nullopt where nothing was timed.
  std::optional<double> after(std::uint64_t all, bool learns) const;

 private:
  std::uint64_t evaluations_ = 0;
  std::uint64_t last_gain_ = 0;
  double best_ms_ = 0;
};

}  // namespace smemtune
