#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace smemtune {

/// Returns the indices of about `wanted` different elements of an array, or of all elements if it
/// has no more. Every prefix of the result is spread over the array. The first and the last element
/// come first; a quarter of the indices lie on the faces of the array (its first and last rows,
/// columns, ...); the array is divided into equal parts, and each of the remaining indices lies in
/// a part of its own. The result depends only on the arguments.
std::vector<std::int64_t> spread_sample(std::span<const std::int64_t> shape, std::size_t wanted,
                                        std::uint64_t seed);

}  // namespace smemtune
