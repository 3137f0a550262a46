#pragma once

#include "tuner/core/usable_cores.h"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace smemtune {

/// Calls work(begin, end) for parts of the range [0, count), on all cores. `worth_a_thread`: a part
/// has at least this many.
template <typename Range>
void on_all_cores(std::uint64_t count, std::uint64_t worth_a_thread, const Range& work) {
  const std::uint64_t most = count / worth_a_thread;
  // Files say how many cores there are, so that is not asked for an element or two.
  const std::uint64_t parts = most <= 1 ? 1 : std::min<std::uint64_t>(most, usable_cores());
  std::vector<std::jthread> others;
  for (std::uint64_t part = 1; part < parts; ++part) {
    others.emplace_back(work, count * part / parts, count * (part + 1) / parts);
  }
  work(std::uint64_t{0}, count / parts);
}

}  // namespace smemtune
