#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace smemtune::cli {

/// Where the time goes of a command that has `--max-time`, so that it can say why it ended late.
class LateEnd {
 public:
  using Clock = std::chrono::steady_clock;

  /// `most_s`: 0 where there is no limit.
  LateEnd(Clock::time_point begun, double most_s);

  /// Does not count the time between the two, in which the command waited for somebody else.
  void leave_out(Clock::time_point from, Clock::time_point to);

  /// From now on it is at this, as in "1.5 s starting workers".
  void at(std::string what, Clock::time_point now = Clock::now());

  Clock::time_point begun() const { return begun_; }

  /// `ended 2.1 s after the 4 s of --max-time: 1.5 s starting workers, 0.6 s the finals`; empty
  /// where it ends within a second.
  std::string text(Clock::time_point now = Clock::now()) const;

 private:
  struct Step {
    std::string what;
    Clock::time_point from;
  };

  Clock::time_point begun_;
  double most_s_;
  std::vector<Step> steps_;
};

}  // namespace smemtune::cli
