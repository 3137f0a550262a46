#pragma once

#include <cstdint>
#include <optional>

namespace smemtune {

/// Estimates the probability that a search which ends before everything was evaluated has missed a
/// configuration more than 1 % faster than its best.
///
/// With a strategy that does not learn, evaluated configurations are no better than others: after n
/// of N the probability is 1 - n / N. A strategy that learns finds most gains early: the longer it
/// went on in vain since the last gain, in its t-th evaluation, the more likely it is done. But
/// some spaces hide their best where nothing known leads to it, which no number of evaluations
/// reveals. Together: (1 / 5 + 4 / 5 * (t + 10) / n) * (1 - n / N). The numbers follow from
/// replaying six measured spaces, where the estimate is slightly too high rather than too low
/// (bench/RESULTS.md).
class ChanceOfBetter {
 public:
  /// A configuration this many times as fast counts as better.
  static constexpr double kGain = 1.01;

  /// Records an evaluation, in the order told; nullopt: it failed.
  void tell(std::optional<double> time_ms);

  std::uint64_t evaluations() const { return evaluations_; }

  /// Number of the last evaluation more than 1 % faster than all before it; 0: none.
  std::uint64_t last_gain() const { return last_gain_; }

  /// Returns the probability if there are `all` configurations; nullopt when nothing was timed.
  std::optional<double> after(std::uint64_t all, bool learns) const;

 private:
  std::uint64_t evaluations_ = 0;
  std::uint64_t last_gain_ = 0;
  double best_ms_ = 0;
};

}  // namespace smemtune
