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
  defaults,           // Nothing was measured that is predicted to be faster: the default values.
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
  // larger size divided by the smaller. 1 for an exact match, 2 if one size is twice the other.
  double size_ratio = 1;

  constexpr explicit operator bool() const { return entry != nullptr; }
  constexpr const Entry* operator->() const { return entry; }
  constexpr const Entry& operator*() const { return *entry; }
};

/// Returns the larger of two sizes divided by the smaller.
constexpr double size_ratio(long long one, long long other) {
  const double low = static_cast<double>(one < other ? one : other);
  const double high = static_cast<double>(one < other ? other : one);
  if (one == other) return 1;
  return low > 0 ? high / low : 1 + high - low;
}

/// Multiplies a problem's ratio by that of one more size. 0 means not comparable.
constexpr double times_ratio(double ratio, double more) {
  constexpr double kLargest = 1e250;  // Problems with a larger ratio all count as equally far away.
  return ratio < kLargest ? ratio * more : ratio;
}

/// Returns the number of doublings that lie between a measured problem and another, 0 for the same
/// one: the logarithm of the size ratio, between powers of two by interpolation.
constexpr double doublings(double ratio) {
  constexpr double kMost = 64;
  double count = 0;
  for (; ratio >= 2 && count < kMost; ratio /= 2) ++count;
  return count < kMost ? count + (ratio - 1) : kMost;
}

// A configuration that was chosen for one size may be slow at another, so it has to earn its place
// against the default values, which its author chose for all sizes. Its time by theirs is predicted
// as the mean of what was measured, in which a size counts the less the more doublings away it is,
// and of an assumption that counts as much as a size that is some two doublings away. The farther
// away all that was measured is, the larger must have been the lead. What was slower than the
// default values at one of the nearest sizes is not taken. bench/RESULTS.md has what this loses at
// sizes held back.

/// The assumed time of a configuration by that of the default values where nothing was measured,
/// and its weight.
constexpr double kAssumedToDefault = 1.5;
constexpr double kAssumedWeight = 0.2;
/// The assumed time of default values by that of the best where they were not measured.
constexpr double kAssumedOfDefault = 1.5;
/// The number of nearest sizes at which none may be slower than the default values, and by how much
/// it may, as times differ by chance.
constexpr int kNearest = 3;
constexpr double kTolerated = 1.01;
/// The largest ratio that is told apart, also that of what does not run.
constexpr double kMostToDefault = 10;

/// Weighs what is known of one configuration for one size.
class Prediction {
 public:
  /// Adds its time by that of the default values, at a size with this size ratio.
  constexpr void add(double ratio, double to_default) {
    const double distance = doublings(ratio);
    const double weight = 1 / (distance * distance + 0.1);
    weights_ += weight;
    weighted_ += weight * (to_default < kMostToDefault ? to_default : kMostToDefault);
    // Keeps the nearest, the nearest of all first.
    double next_distance = distance;
    double next_to_default = to_default;
    for (int i = 0; i < kNearest; ++i) {
      if (i < known_ && !(next_distance < distances_[i])) continue;
      const double moved_distance = distances_[i];
      const double moved_to_default = to_default_[i];
      distances_[i] = next_distance;
      to_default_[i] = next_to_default;
      next_distance = moved_distance;
      next_to_default = moved_to_default;
      if (i < known_) continue;
      ++known_;
      break;
    }
  }

  /// Returns its predicted time by that of the default values.
  constexpr double to_default() const { return weighted_ / weights_; }

  /// Returns true if it was slower than the default values at one of the nearest sizes.
  constexpr bool was_slower() const {
    bool was_slower = false;
    for (int i = 0; i < known_; ++i) was_slower = was_slower || to_default_[i] > kTolerated;
    return was_slower;
  }

 private:
  double weights_ = kAssumedWeight;
  double weighted_ = kAssumedWeight * kAssumedToDefault;
  int known_ = 0;
  double distances_[kNearest] = {};
  double to_default_[kNearest] = {};
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

/// Returns the entry of the configuration with the least predicted time, of its entries that of the
/// nearest size; empty if that is not below the time of the default values. Without default values
/// the least is taken. `counts(entry)` says which entries count.
template <typename Entry, typename RatioOf, typename ToDefaultOf, typename Counts>
constexpr Choice<Entry> select_predicted(const Entry* entries, std::size_t count, Match match,
                                         const RatioOf& ratio_of, const ToDefaultOf& to_default_of,
                                         bool has_default, const Counts& counts) {
  Choice<Entry> choice;
  double least = 0;
  for (std::size_t i = 0; i < count;) {
    const int configuration = entries[i].configuration;
    Prediction prediction;
    Choice<Entry> nearest;
    for (; i < count && entries[i].configuration == configuration; ++i) {
      const Entry& entry = entries[i];
      const double ratio = counts(entry) ? ratio_of(entry) : 0;
      if (!(ratio > 0)) continue;
      prediction.add(ratio, to_default_of(entry));
      const bool is_nearer = !nearest || ratio < nearest.size_ratio ||
                             (!(nearest.size_ratio < ratio) && entry.time_ms < nearest->time_ms);
      if (entry.time_ms > 0 && is_nearer) nearest = {&entry, match, ratio};
    }
    const double its = prediction.to_default();
    if (!nearest || (has_default && (prediction.was_slower() || !(its < 1)))) continue;
    const bool is_as_good = choice && !(its < least) && !(least < its);
    if (!choice || its < least || (is_as_good && nearest.size_ratio < choice.size_ratio)) {
      choice = nearest;
      least = its;
    }
  }
  return choice;
}

/// Returns the best on the target's device for the problem. Where that was not measured: of all
/// configurations that were measured there for other sizes, the one that is predicted to be the
/// fastest (see Prediction), else the one that is by what was measured on other devices of its
/// compute capability. Empty where nothing is comparable, or nothing is predicted to be faster than
/// the default values.
///
/// `ratio_of(entry)` returns the entry's size ratio, or 0 for an entry that is not comparable:
/// another kernel, another element type. `to_default_of(entry)` returns its time by that of the
/// default values for the same problem on the same device; infinity where it does not run, and
/// where that of the default values is not known its time by that of the best / kAssumedOfDefault.
/// `has_default`: whether there are default values to fall back to. An entry has a device, a
/// compute_capability (0: its times say nothing about other devices), a time_ms (0 where it does
/// not run), a configuration (a number, the same for equal values of the same kernel, whose entries
/// must lie side by side) and is_best (it is its kernel's best for its problem).
template <typename Entry, typename RatioOf, typename ToDefaultOf>
constexpr Choice<Entry> select_measured(const Entry* entries, std::size_t count,
                                        const Target& target, const RatioOf& ratio_of,
                                        const ToDefaultOf& to_default_of, bool has_default) {
  const Choice<Entry> exact = select_exact(entries, count, target, ratio_of);
  if (exact) return exact;
  const auto is_same_device = [&target](const Entry& entry) {
    return std::string_view(entry.device) == target.device;
  };
  const Choice<Entry> here = select_predicted(entries, count, Match::nearest_problem, ratio_of,
                                              to_default_of, has_default, is_same_device);
  if (here) return here;
  return select_predicted(entries, count, Match::same_architecture, ratio_of, to_default_of,
                          has_default, [&target, &is_same_device](const Entry& entry) {
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
