// Selection of the best configuration. Needs C++17 and only the standard library: `smemtune export
// --format header` puts this text at the head of what it writes, libsmemtune installs it, and a
// program may include both.
#ifndef SMEMTUNE_SELECTION_H
#define SMEMTUNE_SELECTION_H

#include <cstddef>
#include <string_view>

namespace smemtune {

/// How closely a selection matches the target, the closest match first.
enum class Match {
  exact,              // Measured on this device, for this problem.
  nearest_problem,    // Measured on this device, for other sizes.
  same_architecture,  // The same, measured on another device of this compute capability.
  defaults,           // Nothing was measured that runs for this problem: the default values.
  none                // Not even the default values are known.
};

/// Returns `exact`, `nearest problem`, `same architecture`, `defaults` or `none`.
constexpr std::string_view to_text(Match match) {
  switch (match) {
    case Match::exact:
      return "exact";
    case Match::nearest_problem:
      return "nearest problem";
    case Match::same_architecture:
      return "same architecture";
    case Match::defaults:
      return "defaults";
    default:
      return "none";
  }
}

/// The device that a configuration is selected for: its name as the driver spells it
/// (cudaDeviceProp::name), and its compute capability, 90 for 9.0.
struct Target {
  std::string_view device;
  int compute_capability;
};

/// An entry of a table (null with Match::none), and how closely it matches.
template <typename Entry>
struct Choice {
  const Entry* entry = nullptr;
  Match match = Match::none;
  // Distance of the measured problem from the requested one: the product, over all sizes, of the
  // larger size divided by the smaller, and of what size_ratio() and type_ratio() add for alignment
  // and element types. 1 for an exact match, 2 if one size is twice the other.
  double size_ratio = 1;

  constexpr explicit operator bool() const { return entry != nullptr; }
  constexpr const Entry* operator->() const { return entry; }
  constexpr const Entry& operator*() const { return *entry; }
};

/// Returns the largest power of two, at most 16, that divides a size.
constexpr int alignment(long long size) {
  const auto bits = static_cast<unsigned long long>(size);
  const unsigned long long lowest = bits & (~bits + 1);
  return lowest == 0 || lowest > 16 ? 16 : static_cast<int>(lowest);
}

/// Returns the larger of two sizes divided by the smaller, times 1.1 for each of the factors 2, 4, 8
/// and 16 that divides only one of them: vectors and tiles that fit the one may not fit the other.
constexpr double size_ratio(long long one, long long other) {
  constexpr double kPerAlignment = 1.1;
  if (one == other) return 1;
  const double low = static_cast<double>(one < other ? one : other);
  const double high = static_cast<double>(one < other ? other : one);
  double ratio = low > 0 ? high / low : 1 + high - low;
  int divides_one = alignment(one);
  int divides_other = alignment(other);
  for (; divides_one < divides_other; divides_one *= 2) ratio *= kPerAlignment;
  for (; divides_other < divides_one; divides_other *= 2) ratio *= kPerAlignment;
  return ratio;
}

/// Returns the ratio of two different words, of which each is an element type of so many bytes or, if
/// these are 0, not one: 1.5 for types of the same size, times 8 for each factor of two between their
/// sizes; 0 for other words, which are not comparable.
constexpr double type_ratio(long long bytes, long long other_bytes) {
  constexpr double kSameSize = 1.5;
  constexpr double kHalfSize = 8;
  if (bytes <= 0 || other_bytes <= 0) return 0;
  double ratio = kSameSize;
  for (; bytes < other_bytes; bytes *= 2) ratio *= kHalfSize;
  for (; other_bytes < bytes; other_bytes *= 2) ratio *= kHalfSize;
  return ratio;
}

/// Multiplies a problem's ratio by that of one more size. 0 means not comparable.
constexpr double times_ratio(double ratio, double more) {
  constexpr double kLargest = 1e250;  // Problems with a larger ratio all count as equally far away.
  return more > 0 && !(ratio < kLargest) ? ratio : ratio * more;
}

/// Returns the number of doublings that lie between a measured problem and another, 0 for the same
/// one: the logarithm of the size ratio, between powers of two by interpolation.
constexpr double doublings(double ratio) {
  constexpr double kMost = 64;
  double count = 0;
  for (; ratio >= 2 && count < kMost; ratio /= 2) ++count;
  return count < kMost ? count + (ratio - 1) : kMost;
}

// A configuration that is the best at one size may be slow at another. What its time will be by that
// of the best there is predicted as the mean of what it was at the sizes that were measured, in which
// a size counts the less the more doublings away it is. Where a configuration was not measured it
// counts as slow, with less weight: somebody looked for the best there and did not find it. The
// default values are predicted like the others. bench/RESULTS.md has what this loses at sizes held
// back.

/// The assumed time of a configuration by that of the best, at a measured size where only others were
/// measured, and its weight as a share of a measured time's.
constexpr double kUnknownToBest = 2;
constexpr double kUnknownWeight = 0.25;
/// The largest ratio that is told apart, also that of what does not run.
constexpr double kMostToBest = 3;

/// A configuration's fitness for a problem: its result is right if its kernel's constraints hold, and
/// it is promising if a search would try it there, too.
enum class Fitness { wrong, right, promising };

/// The assumed time of a configuration that a search would not try, by what is predicted of it.
constexpr double kNotPromising = 1.25;

/// Sizes that are so many times as large or small say nothing of each other.
constexpr double kFarthest = 256;

/// Returns how much a measured size counts that has this size ratio to the wanted one; 0 for one that
/// is not comparable, or too far away.
constexpr double weight_of(double ratio) {
  if (!(ratio > 0) || ratio >= kFarthest) return 0;
  const double distance = doublings(ratio);
  return 1 / (distance * distance * distance + 0.1);
}

/// Predicts the time of one configuration, by that of the best, for one size.
class Prediction {
 public:
  /// `of_all`: the weight of all measured sizes.
  constexpr explicit Prediction(double of_all) : of_all_(of_all) {}

  /// Adds its time by that of the best, at a size with this size ratio.
  constexpr void add(double ratio, double to_best) {
    const double weight = weight_of(ratio);
    known_ += weight;
    weighted_ += weight * (to_best < kMostToBest ? to_best : kMostToBest);
  }

  constexpr double to_best() const {
    const double unknown = of_all_ > known_ ? kUnknownWeight * (of_all_ - known_) : 0;
    return (weighted_ + unknown * kUnknownToBest) / (known_ + unknown);
  }

 private:
  double of_all_;
  double known_ = 0;
  double weighted_ = 0;
};

/// Returns the best that was measured on this device for this very problem; of several kernels the
/// fastest. See select_measured().
template <typename Entry, typename RatioOf>
constexpr Choice<Entry> select_exact(const Entry* entries, std::size_t count, const Target& target,
                                     const RatioOf& ratio_of) {
  Choice<Entry> choice;
  for (std::size_t i = 0; i < count; ++i) {
    const Entry& entry = entries[i];
    if (!entry.is_best || std::string_view(entry.device) != target.device) continue;
    const double ratio = ratio_of(entry);
    if (!(ratio > 0) || ratio > 1) continue;
    if (!choice || entry.time_ms < choice->time_ms) choice = {&entry, Match::exact, 1};
  }
  return choice;
}

/// Takes what Prediction says of a configuration.
struct AsPredicted {
  template <typename Entry>
  constexpr double operator()(const Entry& /*nearest*/, double to_best) const {
    return to_best;
  }
};

/// Returns the entry of the right configuration with the least predicted time, of its entries that of
/// the nearest size; empty if none is right. `counts(entry)` says which entries count.
template <typename Entry, typename RatioOf, typename ToBestOf, typename FitnessOf,
          typename Predicted, typename Counts>
constexpr Choice<Entry> select_predicted(const Entry* entries, std::size_t count, Match match,
                                         const RatioOf& ratio_of, const ToBestOf& to_best_of,
                                         const FitnessOf& fitness_of, const Predicted& predicted,
                                         const Counts& counts) {
  double of_all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_fastest = !(to_best_of(entries[i]) > 1) && counts(entries[i]);
    if (is_fastest) of_all += weight_of(ratio_of(entries[i]));
  }
  Choice<Entry> choice;
  double least = 0;
  for (std::size_t i = 0; i < count;) {
    const int configuration = entries[i].configuration;
    Prediction prediction(of_all);
    Choice<Entry> nearest;
    for (; i < count && entries[i].configuration == configuration; ++i) {
      const Entry& entry = entries[i];
      const double ratio = ratio_of(entry);
      if (!(weight_of(ratio) > 0) || !counts(entry)) continue;
      prediction.add(ratio, to_best_of(entry));
      const bool is_nearer = !nearest || ratio < nearest.size_ratio ||
                             (!(nearest.size_ratio < ratio) && entry.time_ms < nearest->time_ms);
      if (entry.time_ms > 0 && is_nearer) nearest = {&entry, match, ratio};
    }
    if (!nearest) continue;
    const Fitness fitness = fitness_of(*nearest);
    if (fitness == Fitness::wrong) continue;
    const double its = predicted(*nearest, prediction.to_best()) *
                       (fitness == Fitness::promising ? 1 : kNotPromising);
    const bool is_as_good = choice && !(its < least) && !(least < its);
    if (!choice || its < least || (is_as_good && nearest.size_ratio < choice.size_ratio)) {
      choice = nearest;
      least = its;
    }
  }
  return choice;
}

/// Returns the best on the target's device for the problem. Where that was not measured: of all
/// configurations that were measured there for other sizes and are right for this one, the one that
/// is predicted to be the fastest (see Prediction), else the one that is by what was measured on other
/// devices of its compute capability. Empty where there is none, as far from all that was measured.
///
/// `ratio_of(entry)` returns the entry's size ratio, or 0 for an entry that is not comparable, such as
/// another kernel's. `to_best_of(entry)` returns its time by that of the fastest
/// entry for the same problem on the same device, which is 1; infinity where it does not run.
/// `fitness_of(entry)` returns the Fitness of its configuration for the problem.
/// `predicted(entry, to_best)` may replace the time by that of the best that Prediction has for the
/// entry's configuration. An entry has a device, a compute_capability (0: its times say nothing about
/// other devices), a time_ms (0 where it does not run), a configuration (a number, the same for equal
/// values of the same kernel, whose entries must lie side by side) and is_best (it is its kernel's
/// best for its problem).
template <typename Entry, typename RatioOf, typename ToBestOf, typename FitnessOf,
          typename Predicted = AsPredicted>
constexpr Choice<Entry> select_measured(const Entry* entries, std::size_t count,
                                        const Target& target, const RatioOf& ratio_of,
                                        const ToBestOf& to_best_of, const FitnessOf& fitness_of,
                                        const Predicted& predicted = {}) {
  const Choice<Entry> exact = select_exact(entries, count, target, ratio_of);
  if (exact) return exact;
  const auto is_same_device = [&target](const Entry& entry) {
    return std::string_view(entry.device) == target.device;
  };
  const Choice<Entry> here = select_predicted(entries, count, Match::nearest_problem, ratio_of,
                                              to_best_of, fitness_of, predicted, is_same_device);
  if (here) return here;
  return select_predicted(entries, count, Match::same_architecture, ratio_of, to_best_of,
                          fitness_of, predicted, [&target, &is_same_device](const Entry& entry) {
                            return entry.compute_capability != 0 && !is_same_device(entry) &&
                                   entry.compute_capability == target.compute_capability;
                          });
}

/// Returns `choice`, or if it is empty the first of the default values for which `wanted(entry)`
/// holds.
template <typename Entry, typename Wanted>
constexpr Choice<Entry> or_defaults(const Choice<Entry>& choice, const Entry* defaults,
                                    std::size_t count, const Wanted& wanted) {
  for (std::size_t i = 0; !choice && i < count; ++i) {
    if (wanted(defaults[i])) return {defaults + i, Match::defaults, 1};
  }
  return choice;
}

}  // namespace smemtune

#endif
