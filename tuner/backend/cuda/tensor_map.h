#pragma once

#include "tuner/backend/cuda/driver.h"
#include "tuner/core/kernel_binding.h"

#include <array>
#include <cstdint>
#include <vector>

namespace smemtune::cuda {

/// A CUtensorMap, which toolkits before 12.0 do not declare.
struct alignas(64) TensorMap {
  std::array<std::uint64_t, 16> words = {};
};

/// Returns true if the L2 cache is to fetch 256 bytes at a time for copies of a tensor with these
/// `strides` in bytes, false for 128. Where not all strides are multiples of 256, matrix
/// multiplication was up to 10 % faster with 128 (bench/RESULTS.md).
bool l2_fetches_256_bytes(const std::vector<std::uint64_t>& strides);

/// Returns the tensor map of an argument's buffer at `data` and of the box that is copied of it.
/// REQUIRES: the argument keeps the limits of core/limits.h, `data` is a multiple of 16. Throws
/// CudaError; UnavailableError if the driver or the toolkit of the build has no tensor maps.
TensorMap make_tensor_map(const Driver& driver, const Argument& argument, CUdeviceptr data);

}  // namespace smemtune::cuda
