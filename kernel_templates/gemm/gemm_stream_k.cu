// Matrix product whose steps along k are shared evenly among as many blocks as run at a time.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x n, C: m x n, all row-major and dense, T elements; the sum is a T
//
// Tiles are those of gemm_register_tiled. Where their number is no multiple of the blocks, some
// multiprocessors would have nothing to do in the end, or from the beginning where there are fewer
// tiles than blocks. So a block computes as many whole tiles as every block can, and of what is
// left over its share of the steps, which may begin in one tile and end in the next:
//
//             whole tiles    left over: 3 tiles (a, b, c) of 8 steps
//   block 0   | 0 | 4 |      aaaaaa                        6 steps each, wherever they fall;
//   block 1   | 1 | 5 |            aabbbb                  the sums of these pieces of tiles go to
//   block 2   | 2 | 6 |                  bbbbcc            scratch memory
//   block 3   | 3 | 7 |                        cccccc
//
// A second launch adds up the pieces of each tile, always in the same order, so that the result of
// a configuration does not change from run to run.
//
// Template parameters
//   T, VEC, TILE_M, TILE_N, DEPTH, ROWS, COLS, STAGES, BLOCKS    as gemm_register_tiled
//
// Arguments        partial: 2 * blocks tiles of T elements, scratch
//                  group: as gemm_register_tiled
//                  blocks (of the second launch): the first one's
// Constraints      as gemm_register_tiled, where tiles are left over
// Blocks           THREADS = TILE_M * TILE_N / (ROWS * COLS) threads;
//                  THREADS x (THREADS > 128 ? 4 : 8) in the second launch
// Grids            any number of blocks: BLOCKS for each multiprocessor;
//                  tiles left over * ROWS * COLS * sizeof(T) / 16
// Shared memory    as gemm_register_tiled, dynamic; 16 bytes per thread in the second launch, static
// Memory traffic   as gemm_register_tiled, and up to 2 * blocks tiles written and read

#include "../common/shares.cuh"
#include "register_tile.cuh"

template <typename T, int VEC, int TILE_M, int TILE_N, int DEPTH, int ROWS, int COLS, int STAGES,
          int BLOCKS, int THREADS = (TILE_M * TILE_N / (ROWS * COLS))>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_stream_k(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c,
                  T* __restrict__ partial, int m, int n, int k, int group) {
  using Tile = gemm_detail::RegisterTile<T, VEC, TILE_M, TILE_N, DEPTH, ROWS, COLS, STAGES>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto* const shared = reinterpret_cast<T*>(shared_bytes);
  const int block = static_cast<int>(blockIdx.x);
  const int blocks = static_cast<int>(gridDim.x);
  const int tiles = (m + TILE_M - 1) / TILE_M * ((n + TILE_N - 1) / TILE_N);

  for (int item = 0;; ++item) {
    const Shares shares(tiles, (k + DEPTH - 1) / DEPTH, blocks);
    const Shares::Item work = shares.item(block, item);
    if (work.first >= work.last) return;
    T* const piece = partial + (2LL * block + work.piece) * (TILE_M * TILE_N);

    const auto place = gemm_detail::tile_place<TILE_M, TILE_N>(work.tile, m, n, group);
    Tile tile;
    tile.multiply(a, b, m, n, k, place, work.first * DEPTH, min(work.last * DEPTH, k), shared);
    if (work.piece < 0) {
      tile.store(c, m, n, place, shared);
    } else {
#pragma unroll
      for (int e = 0; e < ROWS * COLS; ++e) {
        piece[e * THREADS + static_cast<int>(threadIdx.x)] = tile.sums[e / COLS][e % COLS];
      }
    }
    wait_for_copies<0>();
    __syncthreads();
  }
}

// Threads (x, 0 to GROUPS - 1) add up what is one piece of 16 bytes of thread x of a tile, each in turn
// the pieces of other blocks, then (x, 0) their sums.
template <typename T, int VEC, int TILE_M, int TILE_N, int DEPTH, int ROWS, int COLS, int STAGES,
          int THREADS = (TILE_M * TILE_N / (ROWS * COLS)), int GROUPS = (THREADS > 128 ? 4 : 8)>
__global__ void __launch_bounds__(THREADS* GROUPS)
    gemm_stream_k_sum(const T* __restrict__ partial, T* __restrict__ c, int m, int n, int k,
                      int group, int blocks) {
  using Tile = gemm_detail::RegisterTile<T, VEC, TILE_M, TILE_N, DEPTH, ROWS, COLS, STAGES>;
  const int left_over = static_cast<int>(blockIdx.x) / Tile::PIECES;
  const int piece = static_cast<int>(blockIdx.x) % Tile::PIECES;
  const int tiles = (m + TILE_M - 1) / TILE_M * ((n + TILE_N - 1) / TILE_N);
  const Shares shares(tiles, (k + DEPTH - 1) / DEPTH, blocks);
  const int first = left_over * shares.steps;
  const int last_block = shares.block_of(first + shares.steps - 1);
  const T* const from = partial + piece * Tile::PIECE * THREADS + static_cast<int>(threadIdx.x);

  __shared__ typename Tile::Fragment sums[GROUPS][THREADS];
  typename Tile::Fragment sum = {};
  const int group_of_threads = static_cast<int>(threadIdx.y);
#pragma unroll 4
  for (int block = shares.block_of(first) + group_of_threads; block <= last_block;
       block += GROUPS) {
    const int nth = shares.begin(block) < first ? 1 : 0;
#pragma unroll
    for (int v = 0; v < Tile::PIECE; ++v) {
      sum.element[v] += from[(2LL * block + nth) * (TILE_M * TILE_N) + v * THREADS];
    }
  }
  sums[group_of_threads][threadIdx.x] = sum;
  __syncthreads();
  if (group_of_threads > 0) return;
#pragma unroll
  for (int other = 1; other < GROUPS; ++other) {
#pragma unroll
    for (int v = 0; v < Tile::PIECE; ++v) sum.element[v] += sums[other][threadIdx.x].element[v];
  }
  const auto place = gemm_detail::tile_place<TILE_M, TILE_N>(shares.whole + left_over, m, n, group);
  Tile::store_piece(c, m, n, place, piece, sum, sums[0]);
}
