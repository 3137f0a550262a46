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
  same_architecture,  // Measured on another device of this compute capability.
  defaults,           // Nothing comparable was measured: the kernel's default values.
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

/// Returns the closest match; among equals, the nearest problem, then the fastest entry, then the
/// first. `ratio_of(entry)` returns the entry's size ratio, or 0 for an entry that is not
/// comparable: another kernel, another element type. An entry has a device, a compute_capability
/// (0: its times say nothing about other devices) and a time_ms.
template <typename Entry, typename RatioOf>
constexpr Choice<Entry> select_measured(const Entry* entries, std::size_t count,
                                        const Target& target, const RatioOf& ratio_of) {
  Choice<Entry> choice;
  for (std::size_t i = 0; i < count; ++i) {
    const Entry& entry = entries[i];
    const double ratio = ratio_of(entry);
    const bool same_device = std::string_view(entry.device) == target.device;
    const bool same_architecture =
        entry.compute_capability != 0 && entry.compute_capability == target.compute_capability;
    if (!(ratio > 0) || !(same_device || same_architecture)) continue;
    const Match match = !same_device ? Match::same_architecture
                        : ratio > 1  ? Match::nearest_problem
                                     : Match::exact;
    const bool closer = match != choice.match ? match < choice.match : ratio < choice.size_ratio;
    const bool as_close =
        match == choice.match && !(ratio < choice.size_ratio) && !(choice.size_ratio < ratio);
    if (closer || (as_close && entry.time_ms < choice.entry->time_ms)) {
      choice.entry = &entry;
      choice.match = match;
      choice.size_ratio = ratio;
    }
  }
  return choice;
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
