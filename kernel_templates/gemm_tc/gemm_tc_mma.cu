// Matrix product on the tensor cores of sm_80 and later: cp.async, ldmatrix, mma.sync.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k and C: m x n, row-major; B: k x n, row-major, or where TRANSPOSED stored as n x k;
//   A and B T elements, C OUT elements, fp32 sums
//
// A block computes a tile of C, each of its warps WARP_M x WARP_N of it. While one stage of A and B is
// multiplied, the next ones are copied to shared memory:
//
//                     TILE_N                       a stage in shared memory
//              +----------+----------+               A: TILE_M rows of DEPTH + 8 elements
//      TILE_M  | warp 0   | warp 1   |               B: DEPTH rows of TILE_N + 8 elements, or
//              |  +--+--+ |          |                  TILE_N rows of DEPTH + 8 where TRANSPOSED
//              |  |16 x 8 |          |               the 8 spread the rows that ldmatrix reads at a
//              +--+--+----+----------+               time over all banks
//              | warp 2   | warp 3   |
//              +----------+----------+             STAGES of them take turns
//
// Template parameters
//   T, OUT            __half or __nv_bfloat16; the same or float
//   TRANSPOSED        0: B is k x n; 1: B is n x k
//   A_VEC, B_VEC      elements that are copied at a time: 1, 2, 4, 8
//   TILE_M, TILE_N    32 to 256
//   WARP_M, WARP_N    multiples of 16
//   DEPTH             16, 32, 64
//   STAGES            2 or more
//
// Arguments        group: tiles are taken down the columns of groups of so many rows of tiles, so that
//                  blocks that run at the same time share operands in the L2 cache
// Constraints      A_VEC divides k; B_VEC divides n, or k where TRANSPOSED
// Block            32 * (TILE_M / WARP_M) * (TILE_N / WARP_N) threads
// Grid             ceil(m / TILE_M) * ceil(n / TILE_N) blocks
// Shared memory    STAGES * 2 * (TILE_M * (DEPTH + 8)
//                  + (TRANSPOSED ? TILE_N * (DEPTH + 8) : DEPTH * (TILE_N + 8))) bytes, dynamic
// Memory traffic   ceil(n / TILE_N) * m * k + ceil(m / TILE_M) * k * n elements read, m * n written

#include "../common/async_copy.cuh"
#include "../common/half_types.cuh"

namespace gemm_tc_detail {

/// Copies VEC elements, or writes zeros.
template <int VEC>
__device__ __forceinline__ void start_copy_of(unsigned short* to, const unsigned short* from,
                                              bool inside) {
  if constexpr (VEC == 1) {
    *to = inside ? *from : static_cast<unsigned short>(0);
  } else {
    start_copy<2 * VEC>(to, from, inside);
  }
}

/// Copies ROWS x COLUMNS elements that begin at (row, column) of a matrix of `rows` x `columns` to
/// rows of PITCH elements, with zeros for what lies outside.
template <int ROWS, int COLUMNS, int PITCH, int VEC, int THREADS>
__device__ __forceinline__ void start_copy_of_tile(unsigned short* to, const unsigned short* from,
                                                   int row, int column, int rows, int columns) {
  constexpr int kCopies = ROWS * (COLUMNS / VEC);
#pragma unroll 8
  for (int first = 0; first < kCopies; first += THREADS) {
    const int copy = first + static_cast<int>(threadIdx.x);
    if (kCopies % THREADS != 0 && copy >= kCopies) break;
    const int r = copy / (COLUMNS / VEC);
    const int c = copy % (COLUMNS / VEC) * VEC;
    start_copy_of<VEC>(to + r * PITCH + c,
                       from + static_cast<long long>(row + r) * columns + column + c,
                       row + r < rows && column + c < columns);
  }
}

/// Four matrices of 8 x 8 elements; lane l has the address of row l % 8 of matrix l / 8.
template <bool TRANSPOSE>
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const unsigned short* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(from));
  if constexpr (TRANSPOSE) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address));
  }
}

/// sum[16][8] += a[16][16] * b[16][8], spread over the lanes of a warp.
template <typename T>
__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b_upper,
                                         unsigned b_lower) {
  if constexpr (is_half<T>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower));
  }
}

}  // namespace gemm_tc_detail

template <typename T, typename OUT, int TRANSPOSED, int A_VEC, int B_VEC, int TILE_M, int TILE_N,
          int WARP_M, int WARP_N, int DEPTH, int STAGES,
          int THREADS = (32 * (TILE_M / WARP_M) * (TILE_N / WARP_N))>
__global__ void __launch_bounds__(THREADS)
    gemm_tc_mma(const T* __restrict__ a, const T* __restrict__ b, OUT* __restrict__ c, int m, int n,
                int k, int group) {
  using namespace gemm_tc_detail;
  constexpr int kAPitch = DEPTH + 8;
  constexpr int kBRows = TRANSPOSED != 0 ? TILE_N : DEPTH;
  constexpr int kBColumns = TRANSPOSED != 0 ? DEPTH : TILE_N;
  constexpr int kBPitch = kBColumns + 8;
  constexpr int kA = TILE_M * kAPitch;  // Elements.
  constexpr int kStage = kA + kBRows * kBPitch;
  static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "a tile has whole warps");
  static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "matrices are read in pairs of 8");
  static_assert(STAGES >= 2, "one stage is multiplied while others are copied");
  extern __shared__ __align__(16) unsigned short shared[];

  // Down the columns of groups of rows of tiles.
  const int tiles_m = (m + TILE_M - 1) / TILE_M;
  const int tiles_n = (n + TILE_N - 1) / TILE_N;
  const int tile = static_cast<int>(blockIdx.x);
  const int first = tile / (group * tiles_n) * group;
  const int rows = min(group, tiles_m - first);
  const int row = (first + tile % (group * tiles_n) % rows) * TILE_M;
  const int column = tile % (group * tiles_n) / rows * TILE_N;

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp_row = warp / (TILE_N / WARP_N) * WARP_M;
  const int warp_column = warp % (TILE_N / WARP_N) * WARP_N;

  const auto* const a_elements = reinterpret_cast<const unsigned short*>(a);
  const auto* const b_elements = reinterpret_cast<const unsigned short*>(b);
  const auto start_copies = [&](int step) {
    unsigned short* const stage = shared + step % STAGES * kStage;
    const int depth = step * DEPTH;
    if (depth < k) {
      start_copy_of_tile<TILE_M, DEPTH, kAPitch, A_VEC, THREADS>(stage, a_elements, row, depth, m,
                                                                 k);
      if constexpr (TRANSPOSED != 0) {
        start_copy_of_tile<kBRows, kBColumns, kBPitch, B_VEC, THREADS>(stage + kA, b_elements,
                                                                       column, depth, n, k);
      } else {
        start_copy_of_tile<kBRows, kBColumns, kBPitch, B_VEC, THREADS>(stage + kA, b_elements,
                                                                       depth, column, k, n);
      }
    }
    close_copies();  // Every step closes a group, also one that copies nothing.
  };

  float sums[WARP_M / 16][WARP_N / 8][4] = {};
  for (int step = 0; step < STAGES - 1; ++step) start_copies(step);
  const int steps = (k + DEPTH - 1) / DEPTH;
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();  // The stage is there, and nobody reads the one before any more.
    start_copies(step + STAGES - 1);
    const unsigned short* const a_tile = shared + step % STAGES * kStage;
    const unsigned short* const b_tile = a_tile + kA;
#pragma unroll
    for (int depth = 0; depth < DEPTH; depth += 16) {
      unsigned a_parts[WARP_M / 16][4];
#pragma unroll
      for (int i = 0; i < WARP_M / 16; ++i) {
        const int at_row = warp_row + i * 16 + lane % 16;
        load_matrices<false>(a_parts[i], a_tile + at_row * kAPitch + depth + lane / 16 * 8);
      }
#pragma unroll
      for (int j = 0; j < WARP_N / 16; ++j) {
        // Depths 0 to 7 and 8 to 15 of eight columns, then of the next eight.
        unsigned b_parts[4];
        const int at_column = warp_column + j * 16 + lane / 16 * 8;
        const int at_depth = depth + lane / 8 % 2 * 8;
        if constexpr (TRANSPOSED != 0) {
          load_matrices<false>(b_parts, b_tile + (at_column + lane % 8) * kBPitch + at_depth);
        } else {
          load_matrices<true>(b_parts, b_tile + (at_depth + lane % 8) * kBPitch + at_column);
        }
#pragma unroll
        for (int i = 0; i < WARP_M / 16; ++i) {
          multiply<T>(sums[i][2 * j], a_parts[i], b_parts[0], b_parts[1]);
          multiply<T>(sums[i][2 * j + 1], a_parts[i], b_parts[2], b_parts[3]);
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < WARP_M / 16; ++i) {
#pragma unroll
    for (int j = 0; j < WARP_N / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int at_row = row + warp_row + i * 16 + lane / 4 + e / 2 * 8;
        const int at_column = column + warp_column + j * 8 + lane % 4 * 2 + e % 2;
        if (at_row >= m || at_column >= n) continue;
        set_element(c, static_cast<long long>(at_row) * n + at_column, sums[i][j][e]);
      }
    }
  }
}
