// Matrix product through three levels of tiles: of a block in shared memory, of a warp, and of a
// thread in registers.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x n, C: m x n, all row-major and dense, T elements; the sum is a T
//
// A block computes a TILE_M x TILE_N tile of C in steps of DEPTH along k, a warp a part of it with
// 4 x 8 threads, a thread ROWS x COLS elements:
//
//   block  TILE_M x TILE_N        warp  4 * ROWS x 8 * COLS        thread  ROWS x COLS, in pieces
//   +------+------+------+        +-+-+-+-+-+-+-+-+ first           of 16 bytes a quarter (eighth)
//   | warp | warp | warp |        +-+-+-+-+-+-+-+-+ pieces of       of the warp's tile apart, so
//   +------+------+------+        +-+-+-+-+-+-+-+-+ 4 x 8           that the pieces which a warp
//   | warp | warp | warp |        +-+-+-+-+-+-+-+-+ threads         reads at a time are neighbors
//   +------+------+------+        + second pieces + ...
//
// What hides latency: a thread reads the elements of the next depth from shared memory while it
// multiplies those of this one, and the next pair of tiles is on its way while one is multiplied: B
// by asynchronous copies, A through registers, because it is stored transposed so that a thread's
// rows are neighbors too:
//
//   shared   | A 0 | A 1 | B 0 | B 1 |    A: DEPTH x (TILE_M + PAD), B: DEPTH x TILE_N elements
//
// Rows and columns behind the edges are read as the last ones and not stored; depths behind the
// edge are zeros.
//
// Template parameters
//   T       element type                           float, double, int
//   VEC     elements of a global access            16 / sizeof(T) where that divides n and k, else 1
//   TILE_M  rows of a block's tile                 32, 64, 128, 256
//   TILE_N  columns of a block's tile              32, 64, 128, 256
//   DEPTH   elements of a step along k             8, 16
//   ROWS    rows of C per thread                   4, 8, 16
//   COLS    columns of C per thread                4, 8
//   PAD     unused elements after each depth of A  0 or 4; 4 spreads the transposing stores
//   BLOCKS  blocks that a multiprocessor holds     1 or 2; bounds the registers of a thread
//
// Arguments        group: rows of tiles that neighboring blocks compute together, so that they find
//                  each other's A and B in the L2 cache; 1 for one row of tiles after the other
// Constraints      TILE_M % (4 * ROWS) == 0,  TILE_N % (8 * COLS) == 0
//                  ROWS, COLS and PAD in whole pieces of 16 bytes
//                  threads divide TILE_M * DEPTH / VEC and TILE_N * DEPTH / VEC; TILE_N of them or
//                  more, which is TILE_M >= ROWS * COLS
// Block            TILE_M * TILE_N / (ROWS * COLS) threads
// Grid             ceil(m / TILE_M) * ceil(n / TILE_N) blocks
// Shared memory    2 * DEPTH * (TILE_M + PAD + TILE_N) * sizeof(T) bytes, dynamic
// Memory traffic   (ceil(n / TILE_N) * m * k + ceil(m / TILE_M) * k * n + m * n) * sizeof(T) bytes
//                  asked of L2; (m * k + k * n + m * n) * sizeof(T) bytes of memory at least

#include "../common/async_copy.cuh"

namespace gemm_register_tiled_detail {

template <typename T, int N>
struct alignas(sizeof(T) * N) Piece {
  T element[N];
};

/// Where a block's tile begins, by rows of tiles in groups.
struct Place {
  int row;
  int column;
};

template <int TILE_M, int TILE_N>
__device__ __forceinline__ Place tile_place(int block, int m, int n, int group) {
  const int tiles_m = (m + TILE_M - 1) / TILE_M;
  const int tiles_n = (n + TILE_N - 1) / TILE_N;
  const int first_row = block / (group * tiles_n) * group;
  const int rows = min(group, tiles_m - first_row);
  const int within = block % (group * tiles_n);
  return {(first_row + within % rows) * TILE_M, within / rows * TILE_N};
}

}  // namespace gemm_register_tiled_detail

template <typename T, int VEC, int TILE_M, int TILE_N, int DEPTH, int ROWS, int COLS, int PAD,
          int BLOCKS, int THREADS = (TILE_M * TILE_N / (ROWS * COLS))>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    gemm_register_tiled(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m,
                        int n, int k, int group) {
  using gemm_register_tiled_detail::Piece;
  constexpr int PIECE = 16 / static_cast<int>(sizeof(T));  // Elements.
  constexpr int LANES_M = 4;
  constexpr int LANES_N = 8;
  constexpr int WARP_M = LANES_M * ROWS;
  constexpr int WARP_N = LANES_N * COLS;
  constexpr int A_ROW = TILE_M + PAD;
  constexpr int A_LOADS = TILE_M * DEPTH / VEC / THREADS;  // Per thread and tile.
  constexpr int B_LOADS = TILE_N * DEPTH / VEC / THREADS;
  constexpr int A_STEP = THREADS / (DEPTH / VEC);  // Rows from one load to the next.
  constexpr int B_STEP = THREADS / (TILE_N / VEC);
  static_assert(VEC == 1 || VEC == PIECE, "an access has one element or 16 bytes");
  static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "a block has whole warps");
  static_assert(ROWS % PIECE == 0 && COLS % PIECE == 0, "a thread reads pieces of 16 bytes");
  static_assert(A_ROW % PIECE == 0, "a row of A's tile must have whole pieces");
  static_assert(DEPTH % 2 == 0 && DEPTH % VEC == 0, "fragments take turns");
  static_assert(THREADS % (DEPTH / VEC) == 0 && TILE_M % A_STEP == 0, "A's loads must be equal");
  static_assert(THREADS % (TILE_N / VEC) == 0 && DEPTH % B_STEP == 0, "B's loads must be equal");

  extern __shared__ __align__(16) unsigned char shared_bytes[];
  T* const a_tiles = reinterpret_cast<T*>(shared_bytes);
  T* const b_tiles = a_tiles + 2 * DEPTH * A_ROW;

  const int thread = static_cast<int>(threadIdx.x);
  const auto place = gemm_register_tiled_detail::tile_place<TILE_M, TILE_N>(
      static_cast<int>(blockIdx.x), m, n, group);

  // What this thread loads: VEC elements along k of A's rows, along n of B's rows.
  const int a_depth = thread % (DEPTH / VEC) * VEC;
  const int a_row = thread / (DEPTH / VEC);
  const int b_depth = thread / (TILE_N / VEC);
  const int b_column = thread % (TILE_N / VEC) * VEC;
  const T* a_from[A_LOADS];
#pragma unroll
  for (int load = 0; load < A_LOADS; ++load) {
    const int row = min(place.row + a_row + load * A_STEP, m - 1);
    a_from[load] = a + static_cast<long long>(row) * k + a_depth;
  }
  const T* b_from = b + static_cast<long long>(b_depth) * n + min(place.column + b_column, n - VEC);

  Piece<T, VEC> a_loaded[A_LOADS];
  int loaded_depth = 0;  // Where the tiles begin that are loaded next.
  const auto start_loads = [&](int half) {
#pragma unroll
    for (int load = 0; load < A_LOADS; ++load) {
      a_loaded[load] = loaded_depth + a_depth < k
                           ? *reinterpret_cast<const Piece<T, VEC>*>(a_from[load])
                           : Piece<T, VEC>{};
      a_from[load] += DEPTH;
    }
    T* const b_tile = b_tiles + half * DEPTH * TILE_N;
#pragma unroll
    for (int load = 0; load < B_LOADS; ++load) {
      const int depth = b_depth + load * B_STEP;
      start_copy<VEC * sizeof(T)>(b_tile + depth * TILE_N + b_column,
                                  b_from + static_cast<long long>(load * B_STEP) * n,
                                  loaded_depth + depth < k);
    }
    b_from += static_cast<long long>(DEPTH) * n;
    loaded_depth += DEPTH;
  };
  const auto finish_loads = [&](int half) {
    T* const a_tile = a_tiles + half * DEPTH * A_ROW;
#pragma unroll
    for (int load = 0; load < A_LOADS; ++load) {
#pragma unroll
      for (int i = 0; i < VEC; ++i) {
        a_tile[(a_depth + i) * A_ROW + a_row + load * A_STEP] = a_loaded[load].element[i];
      }
    }
    wait_for_copies();
    __syncthreads();
  };

  // Two lanes that follow each other differ in their row, so that each quarter of a warp, which
  // reads 16 bytes per thread at a time, reads two pieces of A and four of B.
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int lane_m = lane % 2 + lane / (2 * LANES_N) * 2;
  const int lane_n = lane / 2 % LANES_N;
  const int own_row = warp / (TILE_N / WARP_N) * WARP_M + lane_m * PIECE;
  const int own_column = warp % (TILE_N / WARP_N) * WARP_N + lane_n * PIECE;

  Piece<T, PIECE> a_fragments[2][ROWS / PIECE];
  Piece<T, PIECE> b_fragments[2][COLS / PIECE];
  const auto read_fragments = [&](int half, int depth) {
    const T* const a_tile = a_tiles + (half * DEPTH + depth) * A_ROW + own_row;
    const T* const b_tile = b_tiles + (half * DEPTH + depth) * TILE_N + own_column;
#pragma unroll
    for (int i = 0; i < ROWS / PIECE; ++i) {
      a_fragments[depth % 2][i] =
          *reinterpret_cast<const Piece<T, PIECE>*>(a_tile + i * LANES_M * PIECE);
    }
#pragma unroll
    for (int j = 0; j < COLS / PIECE; ++j) {
      b_fragments[depth % 2][j] =
          *reinterpret_cast<const Piece<T, PIECE>*>(b_tile + j * LANES_N * PIECE);
    }
  };

  T sums[ROWS][COLS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLS; ++j) sums[i][j] = T(0);
  }

  start_loads(0);
  finish_loads(0);
  read_fragments(0, 0);
  int half = 0;  // Of the pair that is multiplied.
  for (int first_depth = 0; first_depth < k; first_depth += DEPTH) {
    const bool has_next = first_depth + DEPTH < k;
    if (has_next) start_loads(1 - half);
#pragma unroll
    for (int depth = 0; depth < DEPTH; ++depth) {
      // The other half was last read before the barrier of the step before.
      if (depth + 1 < DEPTH) {
        read_fragments(half, depth + 1);
      } else if (has_next) {
        finish_loads(1 - half);
        read_fragments(1 - half, 0);
      }
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLS; ++j) {
          sums[i][j] += a_fragments[depth % 2][i / PIECE].element[i % PIECE] *
                        b_fragments[depth % 2][j / PIECE].element[j % PIECE];
        }
      }
    }
    half = 1 - half;
  }

  // Store.
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int row = place.row + own_row + i / PIECE * LANES_M * PIECE + i % PIECE;
    if (row >= m) continue;
#pragma unroll
    for (int j = 0; j < COLS; j += VEC) {
      const int column = place.column + own_column + j / PIECE * LANES_N * PIECE + j % PIECE;
      if (column >= n) continue;
      Piece<T, VEC> sum;
#pragma unroll
      for (int e = 0; e < VEC; ++e) sum.element[e] = sums[i][j + e];
      *reinterpret_cast<Piece<T, VEC>*>(c + static_cast<long long>(row) * n + column) = sum;
    }
  }
}
