#pragma once

#include <chrono>

namespace smemtune {

/// Returns the milliseconds from one time to another.
inline double ms_between(std::chrono::steady_clock::time_point start,
                         std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

/// Returns the milliseconds since a time.
inline double ms_since(std::chrono::steady_clock::time_point start) {
  return ms_between(start, std::chrono::steady_clock::now());
}

}  // namespace smemtune
