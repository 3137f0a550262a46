// Copies of bytes to shared memory by one thread, which a barrier in shared memory (hopper.cuh) waits
// for.

#pragma once

namespace hopper {

/// Copies bytes to shared memory: multiples of 16, as both addresses are.
__device__ __forceinline__ void load_bytes(unsigned to, const void* from, int bytes,
                                           unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

/// Ends this thread's reads of shared memory that is about to be copied to again. Without it a copy
/// that is started behind a barrier of the threads may overtake reads before the barrier.
__device__ __forceinline__ void end_reads() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace hopper
