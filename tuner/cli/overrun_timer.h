#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace smemtune::cli {

/// Records where the time of a command with `--max-time` goes, so that it can say why it ended
/// late.
class OverrunTimer {
 public:
  using Clock = std::chrono::steady_clock;

  /// `most_s`: the limit; 0 if there is none.
  OverrunTimer(Clock::time_point begun, double most_s);

  /// Excludes the time between the two, during which the command waited for another process.
  void leave_out(Clock::time_point from, Clock::time_point to);

  /// Starts a new activity, described as in "1.5 s starting workers".
  void phase(std::string what, Clock::time_point now = Clock::now());

  Clock::time_point begun() const { return begun_; }

  /// Returns text like `ended 2.1 s after the 4 s of --max-time: 1.5 s starting workers, 0.6 s the
  /// finals`; empty if the command ends no more than a second late.
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
