// Prefix sums in one launch by blocks that stay, to which tiles come by bulk copies.
//
//   out[i] = in[0] + ... + in[i]; with EXCLUSIVE without in[i]
//
//   in, out: n elements; status, taken: 0 before a launch and after it
//
// As scan_lookback, but blocks take tiles until there are none left, have STAGES of them in shared
// memory or on their way there, and tell the sum of a tile while they are still at the one before it.
// So what a tile looks for is there when it looks, and it waits for no block that is slower: the tiles
// of all blocks would else wait for each other, and memory for all of them.
//
// Template parameters
//   T, EXCLUSIVE, ITEMS, WINDOW    as in scan_lookback.cu, BYTES being 16
//   THREADS  threads per block     64 .. 1024, a multiple of 32
//   STAGES   tiles in shared memory    2, 3, 4, 6
//   STREAM   1: writes as write_once.cuh    0, 1
//
// Constraints      fewer than 2^31 tiles; Hopper or newer
// Block            THREADS threads
// Grid             any number of blocks
// Shared memory    STAGES * THREADS * ITEMS * 16 bytes, dynamic; 3 * THREADS / 32 * sizeof(T) and 12
//                  for each stage, static
// Memory traffic   2 * n * sizeof(T) bytes, and 2 * sizeof(T) for each tile, more than once

#include "../common/bulk_copy.cuh"
#include "../common/hopper.cuh"
#include "scan_tile.cuh"

namespace scan_detail {

/// Tiles that one thread of a block asks for, in a ring of STAGES places in shared memory. It takes
/// their numbers one tile ahead, as an answer takes long.
template <typename T, int ELEMENTS, int STAGES>
struct RingOfTiles {
  const T* in;
  long long n;
  int tiles;
  unsigned* taken;
  T* place;
  int* tile;
  unsigned long long* arrived;
  int next = 0;

  __device__ __forceinline__ void take() { next = static_cast<int>(atomicAdd(taken, 1u)); }

  /// Leaves a 0 for the next launch if this block has the last number that is taken in this one.
  __device__ __forceinline__ void end() const {
    if (next == tiles + (STAGES + 1) * static_cast<int>(gridDim.x) - 1) *taken = 0;
  }

  /// Asks for a tile. Of one that is not whole, the elements of its last 16 bytes are left out.
  __device__ __forceinline__ void start(int stage) {
    end();
    tile[stage] = next;
    const unsigned barrier = hopper::shared_address(arrived + stage);
    const long long begin = static_cast<long long>(next) * ELEMENTS;
    const long long left = next < tiles ? n - begin : 0;
    const int bytes = static_cast<int>(min(left, static_cast<long long>(ELEMENTS))) *
                      static_cast<int>(sizeof(T)) / 16 * 16;
    hopper::arrive_and_expect(barrier, bytes);
    if (bytes != 0) {
      hopper::load_bytes(hopper::shared_address(place + stage * ELEMENTS), in + begin, bytes,
                         barrier);
    }
    take();
  }
};

}  // namespace scan_detail

template <typename T, int EXCLUSIVE, int THREADS, int ITEMS, int WINDOW, int STAGES, int STREAM>
__global__ void __launch_bounds__(THREADS)
    scan_bulk(const T* __restrict__ in, T* __restrict__ out, unsigned long long* status,
              unsigned* taken, long long n, int tiles) {
  using Tile = scan_detail::Tile<T, EXCLUSIVE, 16, THREADS, ITEMS, WINDOW>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ typename Tile::Shared shared;
  __shared__ int tile_of[STAGES];
  __shared__ unsigned long long arrived[STAGES];
  scan_detail::RingOfTiles<T, Tile::kElements, STAGES> ring{
      in, n, tiles, taken, reinterpret_cast<T*>(shared_bytes), tile_of, arrived};
  const bool asks = threadIdx.x == THREADS - 32;  // The first warp is the one that looks back.
  const bool tells = threadIdx.x < 32;
  const auto wait_for = [&](int stage, int parity) {
    hopper::wait_for_phase(hopper::shared_address(arrived + stage), parity);
    return tile_of[stage];
  };
  if (asks) {
    for (int stage = 0; stage < STAGES; ++stage) {
      hopper::make_barrier(hopper::shared_address(arrived + stage), 1);
    }
    hopper::publish_barriers();
    ring.take();
    for (int stage = 0; stage < STAGES; ++stage) ring.start(stage);
  }
  __syncthreads();
  int stage = 0;
  int parity = 0;
  int tile = wait_for(0, 0);
  if (tile < tiles - 1) Tile::add_up(ring.place, shared);
  __syncthreads();
  if (tile < tiles - 1 && tells) Tile::tell_sum(tile, status, shared);
  while (tile < tiles) {
    const int next_stage = stage + 1 == STAGES ? 0 : stage + 1;
    if (next_stage == 0) parity ^= 1;
    const int next_tile = wait_for(next_stage, parity);
    __syncthreads();  // What was added up of the last tile has been told.
    if (next_tile < tiles - 1) Tile::add_up(ring.place + next_stage * Tile::kElements, shared);
    const long long begin = static_cast<long long>(tile) * Tile::kElements;
    const int elements = static_cast<int>(min(n - begin, static_cast<long long>(Tile::kElements)));
    Tile held;
    if (elements == Tile::kElements) {
      held.template load<0>(ring.place + stage * Tile::kElements, elements);
    } else {
      held.template load<0>(in + begin, elements);
    }
    hopper::end_reads();
    __syncthreads();
    if (asks) ring.start(stage);
    if (next_tile < tiles - 1 && tells) Tile::tell_sum(next_tile, status, shared);
    held.template scan<true>(tile, status, shared);
    held.template store<STREAM>(out + begin, elements);
    if (tile == tiles - 1) scan_detail::clear_statuses<T>(status, tiles);
    stage = next_stage;
    tile = next_tile;
  }
  if (asks) ring.end();
}
