// Matrix product on the tensor cores of Hopper (sm_90a): TMA, wgmma.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]          gemm_tc_wgmma
//   C[row][column] = scale * sum over i of A[row][i] * B[i][column]  gemm_tc_wgmma_scaled
//
//   A: m x k and C: m x n, row-major; B: k x n, row-major, or where TRANSPOSED stored as n x k;
//   A and B T elements, C OUT elements, fp32 sums, int32 of integers; where OUT is int the sums are
//   stored as they are
//
// One block per multiprocessor stays and computes one tile after the other. Its warpgroups (four
// warps) have roles: a thread of the producer keeps a ring of stages full by TMA; CONSUMERS others
// multiply what has arrived, each some rows of the tile, whose sums it holds in registers.
//
//               ring of STAGES stages            tile of C, TILE_P x TILE_Q
//               +-----+-----+-----+-----+        +--------------------------+
//   producer    | X Y | X Y | X Y | X Y |        | consumer 0: 64 rows at a |
//   by TMA -->  |     |     |     |     | -----> | time by wgmma            |
//               +-----+-----+-----+-----+ wgmma  +--------------------------+
//                 ^ waits until    ^ waits until | consumer 1               |
//                 |  a stage is    |  a stage is |                          |
//                 |  empty         |  full       +--------------------------+
//                                                   | stmatrix where OUT has 16 bits
//               the producer already fills          v
//               stages for the next tile          panels of 16 rows of each warp, by TMA --> C
//
// The tensor cores take 64 rows (P) by 16 to 256 columns (Q). P are the rows of C, or where SWAP its
// columns: for few rows of A a tile is then 64 columns of C or more by as few as 16 rows. X is the
// operand along P (A, or B where SWAP), Y the one along Q; a stage has 128 bytes of their depth.
//
// Blocks form clusters, of
//   CLUSTER_P x CLUSTER_Q   neighboring tiles: those of one row or column of tiles need the same X or
//                           Y, of which each block loads its share for all of them (multicast); or
//   SPLIT                   blocks that compute one tile, each a part of the depth, and leave their
//                           sums in the ring: the first adds them up, always in the same order.
//
// Template parameters
//   T, OUT        __half or __nv_bfloat16; the same or float
//                 scaled: __nv_fp8_e4m3; __half, __nv_bfloat16, float
//                         signed char; signed char (the nearest, at most 127), int
//   TRANSPOSED    0: B is k x n; 1: B is n x k, always where scaled
//   SWAP          0 or 1
//   TILE_P        64 to 256, whole products of 64 for each consumer
//   TILE_Q        16 to 256 by 16, 288, 320
//   CONSUMERS     1 to 4; TILE_P * TILE_Q / CONSUMERS / 128 sums per thread must fit its registers
//   STAGES        2 or more
//   CLUSTER_P, CLUSTER_Q, SPLIT    1, 2, 4; SPLIT also 3, 8
//   PANELS        panels of each warp on their way to C; 0: all of a tile, in the ring
//   DEFER         1: a stage is given back while the next is multiplied; 0: before
//   PROMOTE       1: sums of a stage are added to the others in fp32, because tensor cores add up
//                 products of 8-bit floats with fewer digits; DEFER is 0 then
//
// Arguments        a_map, b_map: boxes of 128 bytes of each row, as many rows as a block loads at a
//                  time (where not TRANSPOSED as much depth of B), swizzled by 128 bytes
//                  c_map: boxes of one panel, swizzled by their width
//                  group: tiles are taken down the columns of groups of so many rows of tiles
//                  hilbert: or in squares of group x group (a power of two) along Hilbert's curve
// Constraints      rows of A, B and C have a multiple of 16 bytes
//                  TRANSPOSED, or a tile has a multiple of 64 columns of B
//                  PROMOTE: twice the sums must fit a thread's registers
//                  PANELS == 0 or SPLIT > 1: each block computes one tile, behind which the ring is
//                  empty; it must have room for the panels, the sums
// Block            128 * (CONSUMERS + 1) threads
// Cluster          CLUSTER_P * CLUSTER_Q * SPLIT blocks
// Grid             any number of clusters: as many as fit the GPU
// Shared memory    STAGES * (TILE_P + TILE_Q) * 128 + CONSUMERS * 4 * PANELS * 2048
//                  + (2 * STAGES + 1) * 8 bytes, dynamic

#include "wgmma_tiles.cuh"

namespace gemm_tc_detail {

/// Loads a share of a stage of an operand, of which SHARERS blocks load one each, for all of them
/// where there are several: of ROWS rows or columns from `first` on, 128 bytes of their depth each,
/// the share-th part of them; or where x is not the depth the share-th part of the depth of all.
template <int ROWS, int SHARERS, bool X_IS_DEPTH>
__device__ __forceinline__ void load_share(unsigned to, const TensorMap& map, int first, int depth,
                                           int share, unsigned barrier, int blocks) {
  constexpr int kRows = X_IS_DEPTH ? ROWS / SHARERS : ROWS;
  constexpr int kBox = !X_IS_DEPTH ? 64 : kRows > 256 ? kRows / 2 : kRows;
  constexpr int kStep = X_IS_DEPTH ? kRows : 64 / SHARERS;  // From share to share, in 128 bytes.
  static_assert(kRows % kBox == 0, "shares are whole boxes");
  static_assert(kBox % 8 == 0 && kStep % 8 == 0, "the swizzle repeats every 8 rows");
  to += share * kStep * 128;
  (X_IS_DEPTH ? first : depth) += share * kStep;
#pragma unroll
  for (int i = 0; i < kRows; i += kBox) {
    const int x = X_IS_DEPTH ? depth : first + i;
    const int y = X_IS_DEPTH ? first + i : depth;
    if constexpr (SHARERS > 1) {
      hopper::load_box(to + i * 128, map, x, y, barrier, blocks);
    } else {
      hopper::load_box(to + i * 128, map, x, y, barrier);
    }
  }
}

/// Tiles that come and go by TMA, each block of a cluster loading its share of what several need.
template <int TRANSPOSED, int SWAP, int TILE_P, int TILE_Q, int CLUSTER_P, int CLUSTER_Q>
struct ByTma {
  static constexpr int kThreads = 1;
  static constexpr int kArrivals = 1;
  static constexpr int kRegisters = 56;
  static constexpr int kBytesOfStage = 0;
  static constexpr bool kStoresByBox = true;
  static constexpr bool kXIsDepth = SWAP == 0 || TRANSPOSED != 0;
  static constexpr bool kYIsDepth = SWAP != 0 || TRANSPOSED != 0;

  const TensorMap& x;
  const TensorMap& y;
  const TensorMap& c;
  int rank_p = 0, rank_q = 0;
  int x_blocks = 0, y_blocks = 0;  // Those that this block's shares go to, a bit for each.

  __device__ __forceinline__ ByTma(const TensorMap& a_map, const TensorMap& b_map,
                                   const TensorMap& c_map)
      : x(SWAP != 0 ? b_map : a_map), y(SWAP != 0 ? a_map : b_map), c(c_map) {}

  __device__ __forceinline__ void begin() const {
    hopper::prefetch_map(x);
    hopper::prefetch_map(y);
    hopper::prefetch_map(c);
  }

  /// X's share of this block goes to the blocks of its row of tiles, Y's to those of its column.
  __device__ __forceinline__ void begin_to_fill(int p, int q, int first_rank) {
    rank_p = p;
    rank_q = q;
    for (int i = 0; i < CLUSTER_Q; ++i) x_blocks |= 1 << (first_rank + rank_p + i * CLUSTER_P);
    y_blocks = ((1 << CLUSTER_P) - 1) << (first_rank + rank_q * CLUSTER_P);
  }

  template <typename LAYOUT>
  __device__ __forceinline__ void fill(const LAYOUT& at, int stage, int p, int q, int depth) const {
    const unsigned to = at.stage(stage);
    const unsigned full = at.full(stage);
    hopper::arrive_and_expect(full, (TILE_P + TILE_Q) * 128);
    load_share<TILE_P, CLUSTER_Q, kXIsDepth>(to, x, p, depth, rank_q, full, x_blocks);
    load_share<TILE_Q, CLUSTER_P, kYIsDepth>(to + TILE_P * 128, y, q, depth, rank_p, full,
                                             y_blocks);
  }

  template <typename LAYOUT>
  __device__ __forceinline__ void finish(const LAYOUT&) const {}

  template <int ROWS, int COLUMNS, int THREADS>
  __device__ __forceinline__ void store_panel(int at_x, int at_y, unsigned panel, int) const {
    hopper::store_box(c, at_x, at_y, panel);
  }
};

}  // namespace gemm_tc_detail

template <typename T, typename OUT, int TRANSPOSED, int SWAP, int TILE_P, int TILE_Q, int CONSUMERS,
          int STAGES, int CLUSTER_P, int CLUSTER_Q, int SPLIT, int PANELS, int DEFER,
          int THREADS = (128 * (CONSUMERS + 1))>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_tc_wgmma(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                  const __grid_constant__ TensorMap c_map, int m, int n, int k, int group,
                  int hilbert) {
  static_assert(sizeof(T) == 2, "sums of products of 8 bits are scaled");
  gemm_tc_detail::ByTma<TRANSPOSED, SWAP, TILE_P, TILE_Q, CLUSTER_P, CLUSTER_Q> transfers(
      a_map, b_map, c_map);
  gemm_tc_detail::compute_tiles<T, OUT, TRANSPOSED, SWAP, TILE_P, TILE_Q, CONSUMERS, STAGES,
                                CLUSTER_P, CLUSTER_Q, SPLIT, PANELS, DEFER, 0>(transfers, 1, m, n,
                                                                               k, group, hilbert);
}

template <typename T, typename OUT, int SWAP, int TILE_P, int TILE_Q, int CONSUMERS, int STAGES,
          int SPLIT, int PANELS, int DEFER, int PROMOTE, int THREADS = (128 * (CONSUMERS + 1))>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_tc_wgmma_scaled(const __grid_constant__ TensorMap a_map,
                         const __grid_constant__ TensorMap b_map,
                         const __grid_constant__ TensorMap c_map, const float* scale, int m, int n,
                         int k, int group) {
  static_assert(sizeof(T) == 1, "sums of products of 16 bits are stored as they are");
  gemm_tc_detail::ByTma<1, SWAP, TILE_P, TILE_Q, 1, 1> transfers(a_map, b_map, c_map);
  gemm_tc_detail::compute_tiles<T, OUT, 1, SWAP, TILE_P, TILE_Q, CONSUMERS, STAGES, 1, 1, SPLIT,
                                PANELS, DEFER, PROMOTE>(transfers, *scale, m, n, k, group, 0);
}
