#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace smemtune {

/// Measures how fast configurations have been finished lately, and how long the rest will take.
class ProgressMeter {
 public:
  /// Counts one as done at `now_s`, a time that never runs backwards.
  void count(double now_s);

  /// Configurations per second over the last 15 seconds; 0 while unknown.
  double per_s(double now_s) const;

  /// Estimated time for `left` configurations; nullopt until ten were done within at least two
  /// seconds, because an earlier guess would be worse than none.
  std::optional<double> remaining_s(double now_s, std::uint64_t left) const;

 private:
  void forget_before(double from_s);

  std::deque<double> done_s_;
  std::optional<double> first_s_;
  std::uint64_t done_ = 0;
};

}  // namespace smemtune
