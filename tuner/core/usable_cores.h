#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace smemtune {

/// Returns how many cores this process may use, at least 1: those of its affinity mask, but no more
/// than the quotas of its control groups (version 2) allow.
unsigned usable_cores();

/// Returns how many bytes of memory this process and its children may use together: the machine's
/// memory, but no more than its control groups (of either version) allow.
std::uint64_t usable_memory_bytes();

/// Returns the cores that a control group's `cpu.max` allows, rounded up: 2 for `150000 100000`;
/// nullopt for `max` and for text that is not a quota.
std::optional<unsigned> cores_of_quota(const std::string& cpu_max);

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
