#pragma once

#include <cstdint>
#include <optional>

namespace smemtune {

/// A search that nothing else limits ends when the chance of something better is below this.
inline constexpr double kSureChance = 0.05;

/// A search's knowledge of one kernel, from which follows whether something better is left there.
struct SearchedSoFar {
  std::uint64_t all = 0;        ///< Configurations of the kernel.
  std::uint64_t evaluated = 0;  ///< Configurations that were told.
  /// How many of the others are expected to be better, by a model of the times; nullopt: any.
  std::optional<double> expected = std::nullopt;
};

/// Estimates the probability that a search which learns has missed a better configuration of a
/// kernel. The odds grow with the power 0.4 of the number S of configurations that a model expects
/// to be better, where more than one counts as one and less than a thousandth as a thousandth
/// because models are that far off, and fall with the power 1.6 of the number t of evaluations:
/// exp(7.43) * S^0.4 / t^1.6. The probability is that times the share that is untried. The numbers
/// are a logistic regression on replays of measured spaces; bench/RESULTS.md says of which, and how
/// the estimate holds on others.
double chance_of_better(const SearchedSoFar& searched);

/// Returns the probability for several kernels together, from the product of the probabilities that
/// each has nothing better, `nothing_better`. It keeps a fiftieth of the share that is untried, for
/// a best that hides where nothing known leads to it.
double chance_of_all(double nothing_better, std::uint64_t all, std::uint64_t evaluated);

/// Returns the number of evaluations after which a chance will have fallen to `least` if nothing
/// better is found.
double evaluations_until(double chance, double least, std::uint64_t evaluated);

/// Follows when a search last found something more than 1 % faster than all before.
class LastGain {
 public:
  /// A configuration this many times as fast counts as better.
  static constexpr double kGain = 1.01;

  /// Records an evaluation, in the order told; nullopt: it failed.
  void tell(std::optional<double> time_ms);

  std::uint64_t evaluations() const { return evaluations_; }

  /// Number of the last evaluation more than 1 % faster than all before it; 0: none.
  std::uint64_t last_gain() const { return last_gain_; }

 private:
  std::uint64_t evaluations_ = 0;
  std::uint64_t last_gain_ = 0;
  double best_ms_ = 0;
};

}  // namespace smemtune
