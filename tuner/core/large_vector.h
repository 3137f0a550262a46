#pragma once

#include "tuner/core/usable_cores.h"

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <vector>

namespace smemtune {

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
