// The threads of a cluster of blocks that have a row together.

#pragma once

#include "team.cuh"

namespace normalize_detail {

/// The values that the warps of its cluster send a block, in shared memory. Two sets of values, each with a
/// barrier, take turns: a block may already send what it has found in the next reduction, but not
/// what it finds in the one after that, while another one reads.
template <int CLUSTER, int THREADS, int FLOATS>
struct ClusterValues {
  static constexpr int kWarps = CLUSTER * THREADS / 32;

  unsigned long long arrived[2];
  float value[2][kWarps * FLOATS];

  /// Makes the barriers. One thread calls it, before any block of the cluster sends anything.
  __device__ __forceinline__ void begin() {
    for (int set = 0; set < 2; ++set) {
      hopper::make_barrier(hopper::shared_address(arrived + set), 1);
    }
    hopper::publish_barriers();
  }
};

/// All threads of a cluster of CLUSTER blocks of THREADS threads, each of which calls reduced().
/// Nothing is waited for but the values: a barrier of the cluster would wait for stores as well.
template <int CLUSTER, int THREADS, int FLOATS>
struct TeamOfCluster {
  static constexpr int kWarps = THREADS / 32;

  ClusterValues<CLUSTER, THREADS, FLOATS>& shared;
  int rank;
  int reductions = 0;

  template <typename Reduction, int WHICH, int COUNT>
  __device__ __forceinline__ NumbersOf<COUNT> reduced(NumbersOf<COUNT> value) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int set = reductions & 1;
    const unsigned barrier = hopper::shared_address(shared.arrived + set);
    auto* const values = reinterpret_cast<NumbersOf<COUNT>*>(shared.value[set]);
    value = reduced_lanes<Reduction, 32>(value);
    if (threadIdx.x == 0) {
      hopper::arrive_and_expect(barrier,
                                CLUSTER * kWarps * COUNT * static_cast<int>(sizeof(float)));
    }
    if (lane < CLUSTER) {
      const unsigned to =
          hopper::in_block(hopper::shared_address(values + rank * kWarps + warp), lane);
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        asm volatile(
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                to + 4 * i),
            "r"(__float_as_uint(value.of[i])), "r"(hopper::in_block(barrier, lane))
            : "memory");
      }
    }
    hopper::wait_for_phase(barrier, reductions >> 1 & 1);
    ++reductions;
    return reduced_values<Reduction, CLUSTER * kWarps>(values, lane);
  }
};

}  // namespace normalize_detail
