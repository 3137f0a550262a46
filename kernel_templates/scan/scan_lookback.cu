// Prefix sums in one launch: each block scans a tile and learns from the blocks before it what is
// before the tile (decoupled look-back, Merrill and Garland).
//
//   out[i] = in[0] + ... + in[i]; with EXCLUSIVE without in[i]
//
//   in, out: n elements; status, taken: 0 before a launch and after it
//
// A block tells the later ones the sum of its tile as soon as it knows it. It then goes back over the
// tiles before it, adding up their sums, up to one that knows the sum of all elements up to its end.
// So each element is read and written once.
//
// Template parameters
//   T          element type             int, float, long long, double
//   EXCLUSIVE  0, 1
//   BYTES      of an access             8, 16
//   THREADS    threads per block        64 .. 1024, a multiple of 32
//   ITEMS      accesses of a thread     1 .. 16
//   WINDOW     tiles that are looked at together, in units of 32    1, 2, 4, 8
//   TICKET     1: blocks take their tiles in the order in which they begin; 0: the block's index is
//              the tile's, which needs blocks to begin in that order, as they do on NVIDIA's GPUs
//   STREAM     1: as read_once.cuh and write_once.cuh               0, 1
//
// Constraints      fewer than 2^31 tiles
// Block            THREADS threads
// Grid             ceil(n / (THREADS * ITEMS * BYTES / sizeof(T))) blocks, a tile each
// Shared memory    3 * THREADS / 32 * sizeof(T) bytes, with TICKET 4 more, static
// Memory traffic   2 * n * sizeof(T) bytes, and 2 * sizeof(T) for each tile, more than once

#include "scan_tile.cuh"

template <typename T, int EXCLUSIVE, int BYTES, int THREADS, int ITEMS, int WINDOW, int TICKET,
          int STREAM>
__global__ void __launch_bounds__(THREADS)
    scan_lookback(const T* __restrict__ in, T* __restrict__ out, unsigned long long* status,
                  unsigned* taken, long long n) {
  using Tile = scan_detail::Tile<T, EXCLUSIVE, BYTES, THREADS, ITEMS, WINDOW>;
  __shared__ typename Tile::Shared shared;
  int tile = static_cast<int>(blockIdx.x);
  if constexpr (TICKET != 0) {
    __shared__ int ticket;
    if (threadIdx.x == 0) {
      ticket = static_cast<int>(atomicAdd(taken, 1u));
      if (ticket == static_cast<int>(gridDim.x) - 1) *taken = 0;
    }
    __syncthreads();
    tile = ticket;
  }
  const long long begin = static_cast<long long>(tile) * Tile::kElements;
  const int elements = static_cast<int>(min(n - begin, static_cast<long long>(Tile::kElements)));
  Tile held;
  held.template load<STREAM>(in + begin, elements);
  held.template scan<false>(tile, status, shared);
  held.template store<STREAM>(out + begin, elements);
  const int tiles = static_cast<int>(gridDim.x);
  if (tile == tiles - 1) scan_detail::clear_statuses<T>(status, tiles);
}
