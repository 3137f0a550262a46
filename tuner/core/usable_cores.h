#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/mman.h>
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

/// Lets the system provide this memory from all cores, on huge pages where it has them. Faults, one
/// for every page and one after the other, take longer than writing what a device's memory holds.
inline void populate(std::uint8_t* begin, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t lead =
      (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (bytes < lead + kHugePage) return;
  // Advice that is not taken changes nothing.
  madvise(begin + lead, bytes - lead, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  on_all_cores((bytes - lead) / kPage, kHugePage / kPage,
               [&](std::uint64_t from, std::uint64_t to) {
                 madvise(begin + lead + from * kPage, (to - from) * kPage, MADV_POPULATE_WRITE);
               });
#endif
}

/// Returns `count` zeros.
template <typename T>
std::vector<T> large_vector(std::size_t count) {
  std::vector<T> zeros;
  zeros.reserve(count);
  populate(static_cast<std::uint8_t*>(static_cast<void*>(zeros.data())), count * sizeof(T));
  zeros.resize(count);
  return zeros;
}

}  // namespace smemtune
