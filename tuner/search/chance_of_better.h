#pragma once

#include <cstdint>
#include <optional>

namespace smemtune {

/// How likely it is that a search which ends before everything was evaluated has left something
/// that is more than 1 % faster than its best.
///
/// Of a strategy that does not learn, what was evaluated is no better than what was not: after n of
/// N it is 1 - n / N. One that learns finds most of what it finds early: a search that went on for
/// long without finding more is likely done, and as likely as it has been going on in vain. Where
/// the last gain was the t-th evaluation that is (t + 10) / n, times 1 - n / N. Replaying measured
/// spaces, it says a little too much rather than too little (bench/RESULTS.md).
class ChanceOfBetter {
 public:
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
