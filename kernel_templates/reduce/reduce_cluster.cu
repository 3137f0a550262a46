// Reduction of rows, each by the blocks of one cluster, in one launch.
//
//   out[i] = the sum of row i, or its largest element; with argmax also that one's index
//
//   in: m x n, row-major and dense, T elements; out: m elements of OUT, in which sums are added up
//
// As reduce_split, but the blocks of a row are a cluster, and put the values of their parts into
// shared memory of the first of them, which reduces these.
//
// Template parameters
//   T, OUT, LARGEST, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED    as reduce_split
//   CLUSTER  blocks of a row    2, 4, 8
//
// Constraints      as reduce_split; Hopper or newer
// Block            THREADS threads
// Grid             m * CLUSTER blocks, in clusters of CLUSTER
// Shared memory    a value for each warp and each block, static: sizeof(OUT) bytes, with argmax sizeof(OUT) + 8
// Memory traffic   m * n * sizeof(T) bytes

#include "gather.cuh"

namespace reduce_detail {

/// Stores a value to an address of shared memory of any block of the cluster.
template <typename Value>
__device__ __forceinline__ void store_in_cluster(unsigned address, const Value& value) {
  union {
    Value value;
    unsigned word[sizeof(Value) / 4];
  } stored = {value};
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(Value) / 4); ++i) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address + 4 * i), "r"(stored.word[i])
                 : "memory");
  }
}

template <typename Reduction, int CLUSTER, int BYTES, int THREADS, int ITEMS, int STREAM,
          int INTERLEAVED>
__device__ __forceinline__ void reduce_cluster(const typename Reduction::Element* in,
                                               typename Reduction::Array out, long long n) {
  __shared__ typename Reduction::Value values[CLUSTER];
  hopper::arrive_at_cluster();  // Nobody may store to a block that has not begun.
  const long long row = blockIdx.x / CLUSTER;
  const int part = static_cast<int>(blockIdx.x % CLUSTER);
  auto value = reduced_part<Reduction, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED>(in + row * n, n,
                                                                                   part, CLUSTER);
  hopper::wait_for_cluster();
  if (threadIdx.x == 0) {
    store_in_cluster(hopper::in_block(hopper::shared_address(values + part), 0), value);
  }
  hopper::sync_cluster();
  if (part != 0 || threadIdx.x != 0) return;
#pragma unroll
  for (int i = 1; i < CLUSTER; ++i) value = Reduction::both(value, values[i]);
  out.set(row, value);
}

}  // namespace reduce_detail

template <typename T, typename OUT, int LARGEST, int CLUSTER, int BYTES, int THREADS, int ITEMS,
          int STREAM, int INTERLEAVED>
__global__ void __launch_bounds__(THREADS)
    reduce_cluster(const T* __restrict__ in, OUT* __restrict__ out, long long n) {
  using Reduction = reduce_detail::ToNumber<T, OUT, LARGEST>;
  reduce_detail::reduce_cluster<Reduction, CLUSTER, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED>(
      in, {out}, n);
}

template <typename T, typename OUT, int CLUSTER, int BYTES, int THREADS, int ITEMS, int STREAM,
          int INTERLEAVED>
__global__ void __launch_bounds__(THREADS)
    argmax_cluster(const T* __restrict__ in, OUT* __restrict__ out,
                   long long* __restrict__ out_index, long long n) {
  using Reduction = reduce_detail::ToIndex<T, OUT>;
  reduce_detail::reduce_cluster<Reduction, CLUSTER, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED>(
      in, {out, out_index}, n);
}
