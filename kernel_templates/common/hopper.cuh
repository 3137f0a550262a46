// What sm_90a adds to a kernel, as PTX: barriers in shared memory, copies of tiles by the tensor
// memory accelerator (TMA), clusters of blocks, and registers that warps hand to each other.
//
// Addresses of shared memory are 32-bit here, as the instructions take them. Those of another
// block of the cluster come from in_block().

#pragma once

#include "element_types.cuh"

/// A CUtensorMap, which describes a tensor and the boxes that are copied of it. Passed by value.
struct alignas(64) TensorMap {
  unsigned long long words[16];
};

namespace hopper {

__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// Of block `rank` of the cluster, what lies in this block at `address`.
__device__ __forceinline__ unsigned in_block(unsigned address, int rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

__device__ __forceinline__ int rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

/// A barrier of all threads of the cluster, in two halves: they may do something else in between.
__device__ __forceinline__ void arrive_at_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_for_cluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void sync_cluster() {
  arrive_at_cluster();
  wait_for_cluster();
}

/// A barrier of COUNT threads of this block, whole warps. 0 is that of __syncthreads().
template <int COUNT>
__device__ __forceinline__ void sync_threads(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(COUNT) : "memory");
}

/// Four numbers from an address of shared memory of any block of the cluster.
__device__ __forceinline__ void load_of_cluster(float (&to)[4], unsigned address) {
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_of_cluster(int (&to)[4], unsigned address) {
  asm volatile("ld.shared::cluster.v4.s32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_of_cluster(double (&to)[2], unsigned address) {
  asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];"
               : "=d"(to[0]), "=d"(to[1])
               : "r"(address)
               : "memory");
}

/// Four bytes of this block's shared memory.
__device__ __forceinline__ unsigned load_word(unsigned address) {
  unsigned word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

// Stores of numbers. Each kind has its own registers: a sum that the tensor cores may still write must
// not be moved to another one, which would come before the wait for it.

__device__ __forceinline__ void store(unsigned address, float a) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(a) : "memory");
}
__device__ __forceinline__ void store(unsigned address, int a) {
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(address), "r"(a) : "memory");
}
__device__ __forceinline__ void store(unsigned address, float a, float b) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(a), "f"(b) : "memory");
}
__device__ __forceinline__ void store(unsigned address, int a, int b) {
  asm volatile("st.shared.v2.s32 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b) : "memory");
}
__device__ __forceinline__ void store(unsigned address, float a, float b, float c, float d) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(a), "f"(b), "f"(c),
               "f"(d)
               : "memory");
}
__device__ __forceinline__ void store(unsigned address, int a, int b, int c, int d) {
  asm volatile("st.shared.v4.s32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}

/// Stores the nearest integers of 8 bits.
__device__ __forceinline__ void store_bytes(unsigned address, float a) {
  asm volatile("st.shared.b8 [%0], %1;" ::"r"(address), "r"(static_cast<int>(saturated(a)))
               : "memory");
}
__device__ __forceinline__ void store_bytes(unsigned address, float a, float b) {
  const int both = (saturated(a) & 0xff) | saturated(b) << 8;
  asm volatile("st.shared.b16 [%0], %1;" ::"r"(address), "h"(static_cast<short>(both)) : "memory");
}

/// Four matrices of 8 x 8 elements of 16 bits (stmatrix); lane l has the address of row l % 8 of
/// matrix l / 8, and of each matrix two neighbors of row l / 4.
template <bool TRANSPOSE>
__device__ __forceinline__ void store_matrices(unsigned address, unsigned first, unsigned second,
                                               unsigned third, unsigned fourth) {
  if constexpr (TRANSPOSE) {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
        "r"(first), "r"(second), "r"(third), "r"(fourth)
        : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(first), "r"(second), "r"(third), "r"(fourth)
                 : "memory");
  }
}

/// Makes what this thread wrote to shared memory visible to TMA and tensor cores.
__device__ __forceinline__ void publish_to_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// A barrier in shared memory (8 bytes) goes through phases. One ends when as many threads have
// arrived as the barrier was made for, and all bytes that were announced have been copied.

__device__ __forceinline__ void make_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Behind the last make_barrier(); a barrier of the threads must follow.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Arrives, and announces bytes that will be copied in this phase.
__device__ __forceinline__ void arrive_and_expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/// Arrives at a barrier of this block; what this thread wrote before is seen by whoever waits for it.
__device__ __forceinline__ void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives at a barrier of any block of the cluster: what was read before is no longer needed.
__device__ __forceinline__ void arrive_in_block(unsigned barrier, int rank) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(in_block(barrier, rank))
               : "memory");
}

/// The same, and what this warp wrote before is seen by whoever waits with wait_and_see().
__device__ __forceinline__ void publish_and_arrive_in_block(unsigned barrier, int rank) {
  asm volatile(
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(barrier, rank))
      : "memory");
}

/// Waits until the phase of this parity has ended. A new barrier is in phase 0; the one before it,
/// of parity 1, counts as ended. Sees what was copied, and what threads of this block wrote.
__device__ __forceinline__ void wait_for_phase(unsigned barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "AGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra AGAIN;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// The same, and sees what threads of other blocks wrote. This costs a fence.
__device__ __forceinline__ void wait_and_see(unsigned barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "AGAIN:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra AGAIN;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Copies the map's box at (x, y), x along the rows in memory, to shared memory. What lies outside
/// the tensor becomes zeros and counts as copied.
__device__ __forceinline__ void load_box(unsigned to, const TensorMap& map, int x, int y,
                                         unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

/// The same to the blocks of the cluster whose bits are set in `blocks`, in each to the place and
/// for the barrier at these addresses.
__device__ __forceinline__ void load_box(unsigned to, const TensorMap& map, int x, int y,
                                         unsigned barrier, int blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<short>(blocks))
      : "memory");
}

/// Copies a box from shared memory to the tensor, and closes a group of it. What lies outside the
/// tensor is left out.
__device__ __forceinline__ void store_box(const TensorMap& map, int x, int y, unsigned from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
      "cp.async.bulk.commit_group;" ::"l"(&map),
      "r"(x), "r"(y), "r"(from)
      : "memory");
}

/// Waits until all but the last LATER boxes that this thread stores have been read.
template <int LATER>
__device__ __forceinline__ void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LATER) : "memory");
}

/// Brings a map near before it is needed.
__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Changes the registers of each thread of this warpgroup (four warps), all of which call it.
template <int COUNT>
__device__ __forceinline__ void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

}  // namespace hopper
