// Softmax, RMS norm and layer norm of rows, each held in the registers of a cluster of blocks.
//
//   softmax_cluster, rms_norm_cluster, layer_norm_cluster: as in normalize_naive.cu
//
// Works as normalize_registers.cu does, for rows that one multiprocessor does not hold, or not together with
// another row, while it waits for memory. Each warp sends what it has found to all blocks, each of
// which knows the whole row when it has heard of all warps.
//
// Template parameters
//   T, BYTES, ITEMS, WHOLE, STREAM, PASSES    as in normalize_registers.cu
//   CLUSTER  blocks of a row       2, 4, 8
//   THREADS  threads per block     64 .. 1024, a power of two
//
// Constraints      n < 2^31; Hopper or newer
// Block            THREADS threads
// Grid             m * CLUSTER blocks, in clusters of CLUSTER
// Shared memory    16 bytes, and for each warp of the cluster 16, with two passes and of RMS norm 8, of
//                  layer norm with one pass 24, static
// Memory traffic   2 * m * n * sizeof(T) bytes

#include "team_of_cluster.cuh"

namespace normalize_detail {

template <typename T, int CLUSTER, int BYTES, int THREADS, int ITEMS, int WHOLE, int STREAM,
          int PASSES, typename Operation>
__device__ __forceinline__ void normalize_cluster(const T* in, T* out, long long n,
                                                  Operation operation) {
  constexpr int FLOATS = kFloats<Operation, PASSES>;
  __shared__ ClusterValues<CLUSTER, THREADS, FLOATS> shared;
  if (threadIdx.x == 0) shared.begin();
  __syncwarp();
  hopper::arrive_at_cluster();
  const int rank = static_cast<int>(blockIdx.x % CLUSTER);
  const int lane = rank * THREADS + static_cast<int>(threadIdx.x);
  const long long begin = blockIdx.x / CLUSTER * n;
  const int count = static_cast<int>(n);
  HeldRow<T, BYTES, CLUSTER * THREADS, ITEMS, WHOLE> held(in + begin, count, lane, 0);
  held.template load<STREAM>(in + begin);
  TeamOfCluster<CLUSTER, THREADS, FLOATS> team{shared, rank};
  hopper::wait_for_cluster();  // All blocks have begun.
  learn<PASSES>(operation, held, team, count);
  held.template store<STREAM>(out + begin, operation);
}

}  // namespace normalize_detail

template <typename T, int CLUSTER, int BYTES, int THREADS, int ITEMS, int WHOLE, int STREAM,
          int PASSES>
__global__ void __launch_bounds__(THREADS)
    softmax_cluster(const T* __restrict__ in, T* __restrict__ out, long long n) {
  normalize_detail::normalize_cluster<T, CLUSTER, BYTES, THREADS, ITEMS, WHOLE, STREAM, PASSES>(
      in, out, n, normalize_detail::Softmax<T>{});
}

template <typename T, int CLUSTER, int BYTES, int THREADS, int ITEMS, int WHOLE, int STREAM>
__global__ void __launch_bounds__(THREADS)
    rms_norm_cluster(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                     long long n) {
  normalize_detail::normalize_cluster<T, CLUSTER, BYTES, THREADS, ITEMS, WHOLE, STREAM, 1>(
      in, out, n, normalize_detail::RmsNorm<T>{weight});
}

template <typename T, int CLUSTER, int BYTES, int THREADS, int ITEMS, int WHOLE, int STREAM,
          int PASSES>
__global__ void __launch_bounds__(THREADS)
    layer_norm_cluster(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                       const T* __restrict__ bias, long long n) {
  normalize_detail::normalize_cluster<T, CLUSTER, BYTES, THREADS, ITEMS, WHOLE, STREAM, PASSES>(
      in, out, n, normalize_detail::LayerNorm<T>{weight, bias});
}
