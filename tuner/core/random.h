#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace smemtune {

/// A random engine that gives the same numbers on every machine for the same seed. The
/// distributions and std::shuffle of the standard library do not promise that, so they are replaced
/// below.
using RandomEngine = std::mt19937_64;

/// Returns a number that is uniform in [0, 1).
inline double uniform(RandomEngine& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

/// Returns an integer that is uniform in 0 .. count-1. REQUIRES: count > 0.
inline std::uint64_t below(RandomEngine& random, std::uint64_t count) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{random()} * count) >> 64);
}

template <typename T>
void shuffle(std::span<T> values, RandomEngine& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(below(random, i))]);
  }
}

}  // namespace smemtune
