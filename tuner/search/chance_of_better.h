#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace smemtune {

/// A search that nothing else limits ends when the chance of something better is below
/// kSureChance, after at least kLeastSure evaluations: smaller spaces are evaluated as a whole.
inline constexpr double kSureChance = 0.05;
inline constexpr std::uint64_t kLeastSure = 64;

/// Returns whether a search that nothing else limits ends.
constexpr bool is_sure(double chance, std::uint64_t evaluations) {
  return chance < kSureChance && evaluations >= kLeastSure;
}

/// A search's knowledge of those kernels that are not far behind, from which follows whether
/// something better is left.
struct SearchedSoFar {
  std::size_t kernels = 1;       ///< Kernels with untried configurations.
  std::uint64_t untried = 0;     ///< Configurations that were not told.
  std::uint64_t evaluated = 0;   ///< Configurations that were told.
  std::uint64_t since_gain = 0;  ///< LastGain::since_last_gain() of the whole search.
  std::uint64_t in_flight = 0;   ///< Untried configurations that were asked for.
  /// Number of untried ones that a model of the times expects to be better; nullopt: any.
  std::optional<double> expected = std::nullopt;
  /// Degree, from 0 to 1, to which times measured elsewhere predict those of the untried ones.
  double known_elsewhere = 0;
  bool has_costs = false;  ///< True if that model knows the predicted costs of launches.
};

/// Estimates the probability that a search which learns has missed a configuration that beats a
/// given time. The odds grow with the power 0.515 of the number S of configurations that a model
/// expects to be better, where more than ten count as ten and less than a tenth as that because
/// models are that far off, and with the number u of those untried; they fall with the number t of
/// evaluations and the number n of those since the last gain:
/// exp(4.86 - 0.3 k - 0.6 c) * m^0.5 * S^0.515 * u^0.273 / t^0.761 / (n + 64)^0.918, where m
/// kernels may hold it, k says how far the untried ones are known elsewhere, and c is 1 if costs
/// are known. The latest evaluations, as many as are in flight, do not count in t and n: no
/// question has been answered that could follow from them. The numbers are logistic regressions on
/// replays of measured spaces and of parts of them, those for m and k more cautious than the fit;
/// bench/RESULTS.md says of which, and how the estimate holds on others.
double chance_of_better(const SearchedSoFar& searched);

/// A kernel is behind when its best takes this many times as long as the time to be beaten.
inline constexpr double kLeastBehind = 1.2;

/// A kernel that is behind, and what its search knows.
struct KernelBehind {
  double times = kLeastBehind;  ///< Its best takes so many times as long as the time to be beaten.
  std::uint64_t untried = 0;    ///< Its configurations that were not told.
  std::uint64_t evaluated = 0;  ///< Its configurations that were told.
  bool has_costs = false;       ///< True if the predicted costs of its launches are known.
};

/// Estimates the probability that such a kernel beats that time: its odds are
/// exp(-1.54 - 2 c) * u^0.83 / t^1.4 / times^2.5 + h u / (u + t) / t with u untried after t, where
/// c is 1 if costs are known. The numbers are those of a logistic regression on searches of parts
/// of measured spaces, with two exceptions: the regression says 3.25 c, and h, which is 0.01 if
/// costs are known and else 0.03, allows for a best that nothing known leads to.
/// REQUIRES: times >= kLeastBehind.
double chance_of_kernel_behind(const KernelBehind& kernel);

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

  /// Number of evaluations since that one.
  std::uint64_t since_last_gain() const { return evaluations_ - last_gain_; }

 private:
  std::uint64_t evaluations_ = 0;
  std::uint64_t last_gain_ = 0;
  double best_ms_ = 0;
};

}  // namespace smemtune
