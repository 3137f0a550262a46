#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <vector>

namespace smemtune {

/// Returns `count` zeros, on huge pages where the system has them: of arrays as large as a device's,
/// a page fault for every 4 KB takes longer than writing them.
template <typename T>
std::vector<T> large_vector(std::size_t count) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  std::vector<T> zeros;
  zeros.reserve(count);
  auto* const begin = static_cast<std::uint8_t*>(static_cast<void*>(zeros.data()));
  const std::size_t lead =
      (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  const std::size_t bytes = count * sizeof(T);
  // Advice that is not taken changes nothing.
  if (bytes >= lead + kHugePage) madvise(begin + lead, bytes - lead, MADV_HUGEPAGE);
  zeros.resize(count);
  return zeros;
}

}  // namespace smemtune
