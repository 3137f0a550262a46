#pragma once

#include <chrono>

namespace smemtune {

/// The clock of deadlines: steady_clock, less the time during which this process was stopped
/// (SIGSTOP, a freezer, a debugger) or for another reason did not come round to its event loop.
/// Then it could not have heard an answer, and who had to give one was often stopped with it.
///
/// A process that waits for anything until a time of this clock asks it at least every
/// kLongestWait; a longer gap than kLongestGap between two times that any thread of the process
/// asks is taken for a stop.
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
