// Threads that have a row together, and tell each other what they know of it.

#pragma once

#include "operations.cuh"

namespace normalize_detail {

/// Static shared memory for FLOATS floats; none if they are 0.
template <int FLOATS>
__device__ __forceinline__ float* shared_floats() {
  if constexpr (FLOATS == 0) {
    return nullptr;
  } else {
    __shared__ float floats[FLOATS];
    return floats;
  }
}

/// The value of WIDTH neighboring lanes, in all of them.
template <typename Reduction, int WIDTH, int COUNT>
__device__ __forceinline__ NumbersOf<COUNT> reduced_lanes(NumbersOf<COUNT> value) {
#pragma unroll
  for (int distance = WIDTH / 2; distance > 0; distance /= 2) {
    NumbersOf<COUNT> other;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      other.of[i] = __shfl_xor_sync(0xffffffffu, value.of[i], distance, WIDTH);
    }
    value = Reduction::both(value, other);
  }
  return value;
}

/// The value of VALUES values in shared memory, in all lanes of a warp.
template <typename Reduction, int VALUES, int COUNT>
__device__ __forceinline__ NumbersOf<COUNT> reduced_values(const NumbersOf<COUNT>* values,
                                                           int lane) {
  constexpr int WIDTH = VALUES < 32 ? VALUES : 32;
  NumbersOf<COUNT> value = values[lane % WIDTH];
#pragma unroll
  for (int i = 32; i < VALUES; i += 32) value = Reduction::both(value, values[i + lane]);
  return reduced_lanes<Reduction, WIDTH>(value);
}

/// Floats that GROUPS teams of LANES threads need in shared memory.
template <typename Operation, int PASSES, int LANES, int GROUPS>
constexpr int kBlockFloats =
    LANES > 32 ? LANES / 32 * GROUPS* PASSES* kFloats<Operation, PASSES> : 0;

/// LANES threads of a block, which has GROUPS such teams; all threads of the block call reduced()
/// together. `shared` has room for kBlockFloats.
template <int LANES, int GROUPS>
struct TeamOfBlock {
  static constexpr int kWarps = LANES / 32;

  float* shared;
  int group;
  int lane;

  /// The value of all threads of the team, in all of them. WHICH counts reductions between two
  /// barriers of the block.
  template <typename Reduction, int WHICH, int COUNT>
  __device__ __forceinline__ NumbersOf<COUNT> reduced(NumbersOf<COUNT> value) {
    value = reduced_lanes<Reduction, (LANES < 32 ? LANES : 32)>(value);
    if constexpr (LANES > 32) {
      auto* const values =
          reinterpret_cast<NumbersOf<COUNT>*>(shared) + WHICH * GROUPS * kWarps + group * kWarps;
      if (lane % 32 == 0) values[lane / 32] = value;
      __syncthreads();
      value = reduced_values<Reduction, kWarps>(values, lane % 32);
    }
    return value;
  }
};

}  // namespace normalize_detail
