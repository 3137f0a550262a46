// Stands in for CUDA's header: thread blocks, and their tiles of up to 32 threads.

#pragma once

#include "cuda_on_host.h"

namespace cooperative_groups {

class thread_block {
 public:
  SMEMTUNE_INLINE static void sync() { __syncthreads(); }
  SMEMTUNE_INLINE static unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  SMEMTUNE_INLINE static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  SMEMTUNE_INLINE static unsigned size() { return num_threads(); }
  SMEMTUNE_INLINE static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  SMEMTUNE_INLINE static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  SMEMTUNE_INLINE static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  SMEMTUNE_INLINE static dim3 dim_threads() { return group_dim(); }
};

SMEMTUNE_INLINE thread_block this_thread_block() { return {}; }

/// SIZE threads of a warp that follow each other.
template <unsigned SIZE, typename Parent = thread_block>
class thread_block_tile {
  static_assert(SIZE <= 32 && (SIZE & (SIZE - 1)) == 0,
                "the CPU device has tiles of 1, 2, 4, 8, 16 and 32 threads");

 public:
  SMEMTUNE_INLINE static void sync() { __syncwarp(mask()); }
  SMEMTUNE_INLINE static unsigned thread_rank() {
    return static_cast<unsigned>(::smemtune::lane()) % SIZE;
  }
  SMEMTUNE_INLINE static constexpr unsigned num_threads() { return SIZE; }
  SMEMTUNE_INLINE static constexpr unsigned size() { return SIZE; }
  SMEMTUNE_INLINE static unsigned meta_group_rank() { return thread_block::thread_rank() / SIZE; }
  SMEMTUNE_INLINE static unsigned meta_group_size() {
    return (thread_block::num_threads() + SIZE - 1) / SIZE;
  }
  template <typename T>
  SMEMTUNE_INLINE T shfl(T value, int source) const {
    return __shfl_sync(mask(), value, source, SIZE);
  }
  template <typename T>
  SMEMTUNE_INLINE T shfl_up(T value, unsigned delta) const {
    return __shfl_up_sync(mask(), value, delta, SIZE);
  }
  template <typename T>
  SMEMTUNE_INLINE T shfl_down(T value, unsigned delta) const {
    return __shfl_down_sync(mask(), value, delta, SIZE);
  }
  template <typename T>
  SMEMTUNE_INLINE T shfl_xor(T value, unsigned lanes) const {
    return __shfl_xor_sync(mask(), value, static_cast<int>(lanes), SIZE);
  }
  SMEMTUNE_INLINE int any(int predicate) const { return ballot(predicate) != 0; }
  SMEMTUNE_INLINE int all(int predicate) const { return ballot(!predicate) == 0; }
  SMEMTUNE_INLINE unsigned ballot(int predicate) const {
    return (__ballot_sync(mask(), predicate) & mask()) >> first();
  }

  /// Its lanes of the warp.
  SMEMTUNE_INLINE static unsigned mask() { return (0xffffffffu >> (32 - SIZE)) << first(); }

 private:
  SMEMTUNE_INLINE static unsigned first() {
    return static_cast<unsigned>(::smemtune::lane()) / SIZE * SIZE;
  }
};

template <unsigned SIZE, typename Parent>
SMEMTUNE_INLINE thread_block_tile<SIZE, Parent> tiled_partition(const Parent&) {
  return {};
}

template <typename Group>
SMEMTUNE_INLINE void sync(const Group&) {
  Group::sync();
}

template <typename T>
struct plus {
  SMEMTUNE_INLINE T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct less {
  SMEMTUNE_INLINE T operator()(T a, T b) const { return b < a ? b : a; }
};
template <typename T>
struct greater {
  SMEMTUNE_INLINE T operator()(T a, T b) const { return a < b ? b : a; }
};

template <unsigned SIZE, typename Parent, typename T, typename Combine>
SMEMTUNE_INLINE T reduce(const thread_block_tile<SIZE, Parent>&, T value, Combine combine) {
  return ::smemtune::reduce_lanes(thread_block_tile<SIZE, Parent>::mask(), value, combine);
}

}  // namespace cooperative_groups
