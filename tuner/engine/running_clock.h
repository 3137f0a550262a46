#pragma once

#include <chrono>

namespace smemtune {

/// The clock of deadlines: steady_clock without the time during which this process was stopped
/// (SIGSTOP, a freezer, a debugger) or did not reach its event loop for another reason. It could
/// not have heard an answer then, and the process that had to answer was often stopped, too.
///
/// A process that waits until a time of this clock reads it at least every kLongestWait; a gap of
/// more than kLongestGap between two readings, by any threads of the process, is taken for a stop.
class RunningClock {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the standard's names.
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<RunningClock, duration>;
  static constexpr bool is_steady = true;
  // NOLINTEND(readability-identifier-naming)

  static constexpr std::chrono::milliseconds kLongestWait{400};
  static constexpr std::chrono::milliseconds kLongestGap{1200};

  static time_point now();
};

}  // namespace smemtune
