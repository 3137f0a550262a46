// Softmax, RMS norm and layer norm of rows that come to shared memory by bulk copies.
//
//   softmax_bulk, rms_norm_bulk, layer_norm_bulk: as in normalize_naive.cu
//
// Blocks stay on their multiprocessors. One thread of a block asks for ROWS rows at a time, of which
// STAGES such groups are on their way or being read; the threads take a group to their registers,
// ask for another one in its place, and go on as in normalize_registers.cu: while rows are worked on
// and written, the next ones arrive. With a CLUSTER each block has a part of a row, and they go on
// as in normalize_cluster.cu. Weights are copied to shared memory once.
//
// Template parameters
//   T, LANES, ROWS, ITEMS, STREAM, PASSES    as in normalize_registers.cu, BYTES being 16 and WHOLE 1;
//                                            STREAM says how rows are written
//   CLUSTER  blocks of a row                   1, 2, 4, 8; ROWS is 1 unless it is 1
//   STAGES   groups of rows in shared memory   1, 2, 3, 4, 6, 8
//
// Constraints      n * sizeof(T) is a multiple of 16; Hopper or newer
// Block            LANES x ROWS threads
// Grid             any number of blocks, in clusters of CLUSTER
// Shared memory    (STAGES * ROWS + weights) * P bytes, dynamic, where weights are 0, 1 of RMS norm, 2
//                  of layer norm, and a block's part of a row has P: ceil(n * sizeof(T) / 16 / CLUSTER) * 16;
//                  8 for each stage, and what normalize_registers.cu or normalize_cluster.cu needs,
//                  static
// Memory traffic   2 * m * n * sizeof(T) bytes

#include "../common/bulk_copy.cuh"
#include "team_of_cluster.cuh"

namespace normalize_detail {

/// Groups of ROWS rows, or the parts of rows that are this block's in its cluster, that are copied to
/// a ring of places in shared memory.
template <typename T, int CLUSTER, int ROWS>
struct RingOfRows {
  const T* in;
  long long m;
  long long n;
  int part;   ///< Elements of a row that a block has at most.
  int begin;  ///< First of this block's.
  int count;  ///< Of this block's.
  T* places;
  unsigned long long* arrived;

  __device__ __forceinline__ T* place(int stage) const { return places + stage * ROWS * part; }

  /// Asks for a group of rows, if there is one. One thread calls it.
  __device__ __forceinline__ void start(long long group, int stage) const {
    const long long row = group * ROWS;
    if (row >= m) return;
    const int rows = static_cast<int>(min(static_cast<long long>(ROWS), m - row));
    const int bytes = rows * count * static_cast<int>(sizeof(T));
    const unsigned barrier = hopper::shared_address(arrived + stage);
    hopper::arrive_and_expect(barrier, bytes);
    if (bytes == 0) return;
    hopper::load_bytes(hopper::shared_address(place(stage)), in + row * n + begin, bytes, barrier);
  }
};

/// Copies `count` weights to shared memory, all threads of the block together.
template <typename T>
__device__ __forceinline__ const T* kept_weights(T* to, const T* weight, int count) {
  constexpr int VEC = Piece<T, 16>::kElements;
  const int threads = static_cast<int>(blockDim.x * blockDim.y);
  for (int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x) * VEC; i < count;
       i += threads * VEC) {
    *reinterpret_cast<Piece<T, 16>*>(to + i) = *reinterpret_cast<const Piece<T, 16>*>(weight + i);
  }
  return to;
}

/// The operation on the elements from `begin` on, with its weights in shared memory, where each array
/// has room for `part`.
template <typename T>
__device__ __forceinline__ Softmax<T> with_weights(Softmax<T> operation, T* /*to*/, int /*begin*/,
                                                   int /*count*/, int /*part*/) {
  return operation;
}
template <typename T>
__device__ __forceinline__ RmsNorm<T> with_weights(RmsNorm<T> operation, T* to, int begin,
                                                   int count, int /*part*/) {
  return {kept_weights(to, operation.weight + begin, count)};
}
template <typename T>
__device__ __forceinline__ LayerNorm<T> with_weights(LayerNorm<T> operation, T* to, int begin,
                                                     int count, int part) {
  return {kept_weights(to, operation.weight + begin, count),
          kept_weights(to + part, operation.bias + begin, count)};
}

/// The threads that have a row, with their shared memory; a cluster's blocks have all begun then.
template <typename Operation, int PASSES, int CLUSTER, int LANES, int ROWS>
__device__ __forceinline__ auto team_of_row(int rank, int group, int lane) {
  if constexpr (CLUSTER > 1) {
    constexpr int FLOATS = kFloats<Operation, PASSES>;
    __shared__ ClusterValues<CLUSTER, LANES, FLOATS> shared;
    if (lane == 0) shared.begin();
    __syncwarp();
    hopper::sync_cluster();
    return TeamOfCluster<CLUSTER, LANES, FLOATS>{shared, rank};
  } else {
    return TeamOfBlock<LANES, ROWS>{shared_floats<kBlockFloats<Operation, PASSES, LANES, ROWS>>(),
                                    group, lane};
  }
}

template <typename T, int CLUSTER, int LANES, int ROWS, int ITEMS, int STAGES, int STREAM,
          int PASSES, typename Operation>
__device__ __forceinline__ void normalize_bulk(const T* in, T* out, long long m, long long n,
                                               const Operation& asked) {
  static_assert(CLUSTER == 1 || ROWS == 1, "a cluster has one row at a time");
  constexpr int VEC = Piece<T, 16>::kElements;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ unsigned long long arrived[STAGES];
  const int lane = static_cast<int>(threadIdx.x);
  const int group = static_cast<int>(threadIdx.y);
  const int rank = static_cast<int>(blockIdx.x % CLUSTER);
  const int first = static_cast<int>(blockIdx.x / CLUSTER);
  const int step = static_cast<int>(gridDim.x / CLUSTER);
  const bool asks = lane == 0 && group == 0;

  const int part = (static_cast<int>(n) / VEC + CLUSTER - 1) / CLUSTER * VEC;
  const int begin = rank * part;
  const int count = max(0, min(part, static_cast<int>(n) - begin));
  T* const places = reinterpret_cast<T*>(shared_bytes);
  const RingOfRows<T, CLUSTER, ROWS> ring{in, m, n, part, begin, count, places, arrived};
  if (asks) {
    for (int stage = 0; stage < STAGES; ++stage) {
      hopper::make_barrier(hopper::shared_address(arrived + stage), 1);
    }
    hopper::publish_barriers();
    for (int stage = 0; stage < STAGES; ++stage) {
      ring.start(first + static_cast<long long>(stage) * step, stage);
    }
  }
  const Operation operation = with_weights(asked, ring.place(STAGES), begin, count, part);
  auto team = team_of_row<Operation, PASSES, CLUSTER, LANES, ROWS>(rank, group, lane);
  __syncthreads();

  int stage = 0;
  int parity = 0;
  for (long long i = first; i * ROWS < m; i += step) {
    hopper::wait_for_phase(hopper::shared_address(arrived + stage), parity);
    const long long row = i * ROWS + group;
    HeldRow<T, 16, LANES, ITEMS, 1> held(places, row < m ? count : 0, lane, 0);
    held.template load<0>(ring.place(stage) + group * part);
    hopper::end_reads();
    __syncthreads();
    if (asks) ring.start(i + static_cast<long long>(STAGES) * step, stage);
    Operation known = operation;
    learn<PASSES>(known, held, team, static_cast<int>(n));
    held.template store<STREAM>(out + row * n + begin, known);
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    parity ^= stage == 0 ? 1 : 0;
  }
}

}  // namespace normalize_detail

template <typename T, int CLUSTER, int LANES, int ROWS, int ITEMS, int STAGES, int STREAM,
          int PASSES>
__global__ void __launch_bounds__(LANES* ROWS)
    softmax_bulk(const T* __restrict__ in, T* __restrict__ out, long long m, long long n) {
  normalize_detail::normalize_bulk<T, CLUSTER, LANES, ROWS, ITEMS, STAGES, STREAM, PASSES>(
      in, out, m, n, normalize_detail::Softmax<T>{});
}

template <typename T, int CLUSTER, int LANES, int ROWS, int ITEMS, int STAGES, int STREAM>
__global__ void __launch_bounds__(LANES* ROWS)
    rms_norm_bulk(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                  long long m, long long n) {
  normalize_detail::normalize_bulk<T, CLUSTER, LANES, ROWS, ITEMS, STAGES, STREAM, 1>(
      in, out, m, n, normalize_detail::RmsNorm<T>{weight});
}

template <typename T, int CLUSTER, int LANES, int ROWS, int ITEMS, int STAGES, int STREAM,
          int PASSES>
__global__ void __launch_bounds__(LANES* ROWS)
    layer_norm_bulk(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                    const T* __restrict__ bias, long long m, long long n) {
  normalize_detail::normalize_bulk<T, CLUSTER, LANES, ROWS, ITEMS, STAGES, STREAM, PASSES>(
      in, out, m, n, normalize_detail::LayerNorm<T>{weight, bias});
}
