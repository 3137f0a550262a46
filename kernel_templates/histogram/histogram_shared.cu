// Histogram whose blocks count in their shared memory and add that up in the end.
//
//   out[b] = how many elements x of in have x >> shift = b     0 <= b < bins
//
//   in: n elements of T; others than 0 .. bins * 2^shift - 1 are not counted
//   out: bins elements, which histogram_zero has set to 0
//
// Template parameters
//   T        element type               unsigned char, unsigned short, int
//   BYTES    of an access               4, 8, 16
//   THREADS  threads per block          64 .. 1024, a multiple of 32
//   ITEMS    accesses in flight         1, 2, 4, 8
//   OWNER    whose the copies of the bins are, and
//   COPIES   how many there are         block_bins.cuh: of_warp, of_lane; 1 .. 32, a power of two
//   RUNS     1: neighbors of a piece in the same bin are counted together     0, 1
//   STREAM   1: as read_once.cuh        0, 1
//
// Constraints      n < 2^32, so that no bin overflows
// Block            THREADS threads
// Grid             any number of blocks
// Shared memory    COPIES * bins * 4 bytes, dynamic
// Memory traffic   n * sizeof(T) bytes read, at most bins additions for each block

#include "block_bins.cuh"

template <typename T, int BYTES, int THREADS, int ITEMS, Owner OWNER, int COPIES, int RUNS,
          int STREAM>
__global__ void __launch_bounds__(THREADS)
    histogram_shared(const T* __restrict__ in, unsigned* out, long long n, int bins, int shift) {
  constexpr int VEC = BYTES / static_cast<int>(sizeof(T));
  struct alignas(BYTES) Piece {
    T element[VEC];
  };
  extern __shared__ unsigned shared_bins[];
  const histogram_detail::BlockBins<OWNER, COPIES, RUNS> own(shared_bins, bins, shift);
  own.clear();

  const auto* const pieces = reinterpret_cast<const Piece*>(in);
  const long long whole = n / VEC;
  const long long step = static_cast<long long>(gridDim.x) * THREADS;
  const auto load = [&](long long i) {
    if constexpr (STREAM != 0) {
      return read_once(pieces + i);
    } else {
      return pieces[i];
    }
  };
  long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  for (; i + (ITEMS - 1) * step < whole; i += ITEMS * step) {
    Piece piece[ITEMS];
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) piece[item] = load(i + item * step);
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) own.template count<VEC>(piece[item]);
  }
  for (; i < whole; i += step) own.template count<VEC>(load(i));
  if (blockIdx.x == 0) {
    for (long long k = whole * VEC + threadIdx.x; k < n; k += THREADS) {
      own.count_one(in[k]);
    }
  }
  own.add_to(out);
}
