#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace smemtune {

/// Numbers of about so many different elements of an array, all where it has no more, in an order
/// whose every beginning is spread over the array. The first and the last element come first; a
/// quarter lies on the faces of the array (its first and last rows, columns, ...); the others are
/// one of each of as many equal parts. The same for the same seed.
std::vector<std::int64_t> spread_sample(std::span<const std::int64_t> shape, std::size_t wanted,
                                        std::uint64_t seed);

}  // namespace smemtune
