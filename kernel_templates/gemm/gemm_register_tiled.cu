// Matrix product through three levels of tiles: of a block in shared memory, of a warp, and of a
// thread in registers.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x n, C: m x n, all row-major and dense, T elements; the sum is a T
//
// A block computes a TILE_M x TILE_N tile of C in steps of DEPTH along k, a warp a part of it with
// 4 x 8 threads (fewer rows of more threads where the tile is lower than that, more of fewer where
// it is narrower), a thread ROWS x COLS elements:
//
//   block  TILE_M x TILE_N        warp  4 * ROWS x 8 * COLS        thread  ROWS x COLS, in pieces
//   +------+------+------+        +-+-+-+-+-+-+-+-+ first           of 16 bytes a quarter (eighth)
//   | warp | warp | warp |        +-+-+-+-+-+-+-+-+ pieces of       of the warp's tile apart, so
//   +------+------+------+        +-+-+-+-+-+-+-+-+ 4 x 8           that the pieces which a warp
//   | warp | warp | warp |        +-+-+-+-+-+-+-+-+ threads         reads at a time are neighbors
//   +------+------+------+        + second pieces + ...
//
// What hides latency: a thread reads the elements of the next depth from shared memory while it
// multiplies those of this one, and while one pair of tiles is multiplied, STAGES - 1 others are on
// their way by asynchronous copies. A's tile is stored transposed, element by element, so that a
// thread's rows are neighbors too:
//
//   stage   | A: DEPTH rows of TILE_M elements and 16 bytes | B: DEPTH rows of TILE_N elements |
//
// What lies behind the edges is copied as zeros, and not stored.
//
// Where there are few tiles and k is long, SPLIT blocks of a cluster compute one tile, each a part of
// the depth. They leave their sums in shared memory, where each adds up its share of the tile, always
// in the same order, so that the result of a configuration does not change from run to run:
//
//   cluster, SPLIT = 2      A              B             sums in shared memory     C
//   block 0                 |##  |         |######|      |own |      ----->        |added up by 0|
//   block 1                 |  ##|         |++++++|      |own |      ----->        |added up by 1|
//
// Template parameters
//   T       element type                           float, double, int
//   VEC     elements of a copy of B, and of a      the most that divide n and have 16 bytes at most
//           store
//   TILE_M  rows of a block's tile                 16, 32, 48, 64, 128, 256
//   TILE_N  columns of a block's tile              16, 32, 64, 128, 256
//   DEPTH   elements of a step along k             8, 16, 32
//   ROWS    rows of C per thread                   4, 8, 16
//   COLS    columns of C per thread                4, 8, 16
//   STAGES  pairs of tiles in shared memory        2, 3, 4
//   BLOCKS  blocks that a multiprocessor shall     1, 2; bounds the registers of a thread
//           hold
//   SPLIT   blocks that compute a tile together    1; on sm_90 and later also 2, 4, 8
//
// Arguments        group: rows of tiles that neighboring blocks compute together, so that they find
//                  each other's A and B in the L2 cache; 1 for one row of tiles after the other
// Constraints      TILE_M and TILE_N in whole warps; ROWS and COLS in whole pieces of 16 bytes
//                  DEPTH divides the threads; they are more than TILE_N / VEC, or divide it
// Block            TILE_M * TILE_N / (ROWS * COLS) threads
// Grid             ceil(m / TILE_M) * ceil(n / TILE_N) * SPLIT blocks, SPLIT of a cluster
// Shared memory    STAGES * DEPTH * (TILE_M + 16 / sizeof(T) + TILE_N) * sizeof(T) bytes, dynamic;
//                  where SPLIT > 1, TILE_M * TILE_N * sizeof(T) bytes at least
// Memory traffic   (ceil(n / TILE_N) * m * k + ceil(m / TILE_M) * k * n + m * n) * sizeof(T) bytes
//                  asked of L2; (m * k + k * n + m * n) * sizeof(T) bytes of memory at least

#include "../common/hopper.cuh"
#include "register_tile.cuh"

namespace gemm_detail {

/// Stores the sums over the cluster's blocks, of whose elements this one adds up every SPLITth piece
/// of 16 bytes of each thread. `shared` has TILE_M * TILE_N elements.
template <int SPLIT, typename Tile, typename T>
__device__ __forceinline__ void store_cluster_sums(const Tile& tile, int rank, T* shared, T* c,
                                                   int m, int n, Place place) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  using Fragment = typename Tile::Fragment;
  auto* const own = reinterpret_cast<Fragment*>(shared) + threadIdx.x;
  wait_for_copies<0>();
  __syncthreads();
#pragma unroll
  for (int piece = 0; piece < Tile::PIECES; ++piece) {
    own[piece * Tile::THREADS] = tile.piece(piece);
  }
  hopper::sync_cluster();
  const unsigned here = hopper::shared_address(own);
#pragma unroll 2
  for (int piece = rank; piece < Tile::PIECES; piece += SPLIT) {
    Fragment sum = {};
#pragma unroll
    for (int block = 0; block < SPLIT; ++block) {
      Fragment more;
      hopper::load_of_cluster(
          more.element, hopper::in_block(here, block) + piece * Tile::THREADS * sizeof(Fragment));
#pragma unroll
      for (int v = 0; v < Tile::PIECE; ++v) sum.element[v] += more.element[v];
    }
    tile.store_piece(c, m, n, place, piece, sum,
                     reinterpret_cast<Fragment*>(shared) + piece * Tile::THREADS);
  }
  hopper::sync_cluster();  // Others may still read this block's sums.
#endif
}

}  // namespace gemm_detail

template <typename T, int VEC, int TILE_M, int TILE_N, int DEPTH, int ROWS, int COLS, int STAGES,
          int BLOCKS, int SPLIT, int THREADS = (TILE_M * TILE_N / (ROWS * COLS))>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_register_tiled(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m,
                        int n, int k, int group) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto* const shared = reinterpret_cast<T*>(shared_bytes);
  const int block = static_cast<int>(blockIdx.x);
  const auto place = gemm_detail::tile_place<TILE_M, TILE_N>(block / SPLIT, m, n, group);
  gemm_detail::RegisterTile<T, VEC, TILE_M, TILE_N, DEPTH, ROWS, COLS, STAGES> tile;
  if constexpr (SPLIT == 1) {
    tile.multiply(a, b, m, n, k, place, 0, k, shared);
    tile.store(c, m, n, place, shared);
  } else {
    const int rank = block % SPLIT;
    const int steps = (k + DEPTH - 1) / DEPTH;
    tile.multiply(a, b, m, n, k, place, steps * rank / SPLIT * DEPTH,
                  min(steps * (rank + 1) / SPLIT * DEPTH, k), shared);
    gemm_detail::store_cluster_sums<SPLIT>(tile, rank, shared, c, m, n, place);
  }
}
