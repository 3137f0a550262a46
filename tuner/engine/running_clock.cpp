#include "tuner/engine/running_clock.h"

#include <mutex>
#include <optional>

namespace smemtune {

RunningClock::time_point RunningClock::now() {
  static std::mutex mutex;
  static std::optional<std::chrono::steady_clock::time_point> last;
  static duration stopped{};
  const std::lock_guard lock(mutex);
  const auto steady = std::chrono::steady_clock::now();
  if (last && steady - *last > kLongestGap) stopped += steady - *last - kLongestWait;
  last = steady;
  return time_point(steady.time_since_epoch() - stopped);
}

}  // namespace smemtune
