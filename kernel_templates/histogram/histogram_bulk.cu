// Histogram whose blocks count in their shared memory what comes there by bulk copies.
//
//   out[b] = how many elements x of in have x >> shift = b     0 <= b < bins
//
//   in: n elements of T; others than 0 .. bins * 2^shift - 1 are not counted
//   out: bins elements, which histogram_zero has set to 0
//
// Works as histogram_shared.cu does, but one thread of a block asks for chunks of THREADS * ITEMS * 16 bytes, of
// which STAGES are on their way or being read: how much is in flight does not depend on registers.
//
// Template parameters
//   T, OWNER, COPIES, RUNS    as in histogram_shared.cu
//   THREADS  threads per block             64 .. 1024, a multiple of 32
//   ITEMS    pieces of 16 bytes that a     1, 2, 4
//            thread reads of a chunk
//   STAGES   chunks in shared memory       2, 3, 4, 6, 8
//
// Constraints      n < 2^32, so that no bin overflows; Hopper or newer
// Block            THREADS threads
// Grid             any number of blocks
// Shared memory    STAGES * THREADS * ITEMS * 16 + COPIES * bins * 4 bytes, dynamic; 8 for each
//                  stage, static
// Memory traffic   n * sizeof(T) bytes read, at most bins additions for each block

#include "../common/bulk_copy.cuh"
#include "../common/hopper.cuh"
#include "block_bins.cuh"

template <typename T, int THREADS, int ITEMS, int STAGES, Owner OWNER, int COPIES, int RUNS>
__global__ void __launch_bounds__(THREADS)
    histogram_bulk(const T* __restrict__ in, unsigned* out, long long n, int bins, int shift) {
  constexpr int VEC = 16 / static_cast<int>(sizeof(T));
  constexpr int CHUNK = THREADS * ITEMS;  // Pieces.
  struct alignas(16) Piece {
    T element[VEC];
  };
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto* const ring = reinterpret_cast<Piece*>(shared_bytes);
  __shared__ unsigned long long arrived[STAGES];
  const histogram_detail::BlockBins<OWNER, COPIES, RUNS> own(
      reinterpret_cast<unsigned*>(ring + STAGES * CHUNK), bins, shift);

  const int thread = static_cast<int>(threadIdx.x);
  const long long whole = n / VEC;
  const long long step = static_cast<long long>(gridDim.x) * CHUNK;
  const auto barrier = [&](int stage) { return hopper::shared_address(arrived + stage); };
  const auto start = [&](long long first, int stage) {
    if (first >= whole || thread != 0) return;
    const int bytes = 16 * static_cast<int>(min(static_cast<long long>(CHUNK), whole - first));
    hopper::arrive_and_expect(barrier(stage), bytes);
    hopper::load_bytes(hopper::shared_address(ring + stage * CHUNK), in + first * VEC, bytes,
                       barrier(stage));
  };
  long long first = static_cast<long long>(blockIdx.x) * CHUNK;
  if (thread == 0) {
    for (int stage = 0; stage < STAGES; ++stage) hopper::make_barrier(barrier(stage), 1);
    hopper::publish_barriers();
    for (int stage = 0; stage < STAGES; ++stage) start(first + stage * step, stage);
  }
  own.clear();

  for (int stage = 0, parity = 0; first < whole; first += step) {
    hopper::wait_for_phase(barrier(stage), parity);
    Piece piece[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      piece[item] = ring[stage * CHUNK + item * THREADS + thread];
    }
    hopper::end_reads();
    __syncthreads();
    start(first + STAGES * step, stage);
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      if (first + item * THREADS + thread < whole) own.template count<VEC>(piece[item]);
    }
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    parity ^= stage == 0 ? 1 : 0;
  }
  if (blockIdx.x == 0) {
    for (long long k = whole * VEC + thread; k < n; k += THREADS) {
      own.count_one(in[k]);
    }
  }
  own.add_to(out);
}
