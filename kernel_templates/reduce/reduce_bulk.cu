// Reduction of rows, each by several blocks, whose parts come to shared memory by bulk copies.
//
//   out[i] = the sum of row i, or its largest element; with argmax also that one's index
//
//   in: m x n, row-major and dense, T elements; out: m elements of OUT, in which sums are added up
//
// As reduce_last_block, but one thread of a block asks for chunks of THREADS * ITEMS * 16 bytes, of
// which STAGES are on their way or being read: how much is in flight does not depend on registers
// and warps. Every parts-th chunk of a row is a block's.
//
// Template parameters
//   T, OUT, LARGEST  as reduce_tree
//   THREADS  threads per block           64 .. 1024, a power of two
//   ITEMS    pieces of 16 bytes that a   1, 2, 4, 8
//            thread reads of a chunk
//   STAGES   chunks in shared memory     2, 3, 4, 6, 8
//
// Arguments        as reduce_last_block
// Constraints      a row has fewer than 2^31 pieces, with argmax 2^31 elements; Hopper or newer
// Block            THREADS threads
// Grid             m * parts blocks
// Shared memory    STAGES * THREADS * ITEMS * 16 bytes, dynamic; a value for each warp and 8 bytes
//                  for each stage, static: values have sizeof(OUT) bytes, with argmax sizeof(OUT) + 8
// Memory traffic   m * n * sizeof(T) bytes, and m * parts values written and read

#include "gather.cuh"

namespace reduce_detail {

/// Copies bytes to shared memory: multiples of 16, as both addresses are.
__device__ __forceinline__ void load_bytes(unsigned to, const void* from, int bytes,
                                           unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

/// What this thread gathers of every parts-th chunk of a row, which begins at a multiple of 16 bytes.
template <typename Reduction, int THREADS, int ITEMS, int STAGES>
__device__ __forceinline__ void gather_chunks(typename Reduction::Gathered& value,
                                              const typename Reduction::Element* from, int pieces,
                                              int part, int parts, int before) {
  using T = typename Reduction::Element;
  constexpr int VEC = 16 / static_cast<int>(sizeof(T));
  constexpr int CHUNK = THREADS * ITEMS;  // Pieces.
  struct alignas(16) Piece {
    T element[VEC];
  };
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto* const ring = reinterpret_cast<Piece*>(shared_bytes);
  __shared__ unsigned long long arrived[STAGES];
  const int thread = static_cast<int>(threadIdx.x);
  const auto barrier = [&](int stage) { return hopper::shared_address(arrived + stage); };
  if (thread == 0) {
    for (int stage = 0; stage < STAGES; ++stage) hopper::make_barrier(barrier(stage), 1);
    hopper::publish_barriers();
  }
  __syncthreads();
  const auto start = [&](long long first, int stage) {
    if (first >= pieces || thread != 0) return;
    const int bytes = 16 * min(CHUNK, pieces - static_cast<int>(first));
    hopper::arrive_and_expect(barrier(stage), bytes);
    load_bytes(hopper::shared_address(ring + stage * CHUNK), from + first * VEC, bytes,
               barrier(stage));
  };
  const long long step = static_cast<long long>(parts) * CHUNK;
  long long first = static_cast<long long>(part) * CHUNK;
  for (int stage = 0; stage < STAGES; ++stage) start(first + stage * step, stage);
  for (int stage = 0, parity = 0; first < pieces; first += step) {
    hopper::wait_for_phase(barrier(stage), parity);
    const int left = pieces - static_cast<int>(first);
    Piece piece[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      piece[item] = ring[stage * CHUNK + item * THREADS + thread];
    }
    __syncthreads();
    start(first + STAGES * step, stage);
    const int index = before + (static_cast<int>(first) + thread) * VEC;
    if (left >= CHUNK) {
      Reduction::template add_all<VEC, ITEMS>(value, piece, index, THREADS * VEC);
    } else {
#pragma unroll
      for (int item = 0; item < ITEMS; ++item) {
        const Piece one[1] = {piece[item]};
        if (item * THREADS + thread < left) {
          Reduction::template add_all<VEC, 1>(value, one, index + item * THREADS * VEC, 0);
        }
      }
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    parity ^= stage == 0 ? 1 : 0;
  }
}

template <typename Reduction, int THREADS, int ITEMS, int STAGES>
__device__ __forceinline__ void reduce_bulk(const typename Reduction::Element* in,
                                            typename Reduction::Array out,
                                            typename Reduction::Array partial, unsigned* ticket,
                                            long long n, int parts) {
  using T = typename Reduction::Element;
  constexpr int VEC = 16 / static_cast<int>(sizeof(T));
  constexpr int CHUNK = THREADS * ITEMS;
  const int thread = static_cast<int>(threadIdx.x);
  const int part = static_cast<int>(blockIdx.x % parts);
  const T* const row = in + blockIdx.x / parts * n;
  const int misaligned =
      static_cast<int>(reinterpret_cast<unsigned long long>(row) / sizeof(T) % VEC);
  const int head = static_cast<int>(min(static_cast<long long>((VEC - misaligned) % VEC), n));
  const int pieces = static_cast<int>((n - head) / VEC);
  const int tail = static_cast<int>((n - head) % VEC);
  const bool has_head = part == 0 && thread < head;
  const bool has_tail = part == 0 && thread < tail;
  const int first = part * CHUNK + thread;  // Piece.
  const int last = static_cast<int>(n) - tail + thread;

  auto value = Reduction::gather(has_head         ? thread
                                 : first < pieces ? head + first * VEC
                                 : has_tail       ? last
                                                  : -1);
  if (has_head) Reduction::add(value, row[thread], thread);
  gather_chunks<Reduction, THREADS, ITEMS, STAGES>(value, row + head, pieces, part, parts, head);
  if (has_tail) Reduction::add(value, row[n - tail + thread], last);
  finish<Reduction, THREADS>(reduced<Reduction, THREADS, 1>(Reduction::whole(value, 0), 0, thread),
                             out, partial, ticket, parts);
}

}  // namespace reduce_detail

template <typename T, typename OUT, int LARGEST, int THREADS, int ITEMS, int STAGES>
__global__ void __launch_bounds__(THREADS)
    reduce_bulk(const T* __restrict__ in, OUT* __restrict__ out, OUT* partial, unsigned* ticket,
                long long n, int parts) {
  using Reduction = reduce_detail::ToNumber<T, OUT, LARGEST>;
  reduce_detail::reduce_bulk<Reduction, THREADS, ITEMS, STAGES>(in, {out}, {partial}, ticket, n,
                                                                parts);
}

template <typename T, typename OUT, int THREADS, int ITEMS, int STAGES>
__global__ void __launch_bounds__(THREADS)
    argmax_bulk(const T* __restrict__ in, OUT* __restrict__ out, long long* __restrict__ out_index,
                OUT* partial, long long* index, unsigned* ticket, long long n, int parts) {
  using Reduction = reduce_detail::ToIndex<T, OUT>;
  reduce_detail::reduce_bulk<Reduction, THREADS, ITEMS, STAGES>(in, {out, out_index},
                                                                {partial, index}, ticket, n, parts);
}
