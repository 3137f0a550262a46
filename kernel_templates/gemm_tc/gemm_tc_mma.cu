// Matrix product on the tensor cores of sm_80 and later: cp.async, ldmatrix, mma.sync.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]          gemm_tc_mma
//   C[row][column] = scale * sum over i of A[row][i] * B[i][column]  gemm_tc_mma_scaled
//
//   A: m x k and C: m x n, row-major; B: k x n, row-major, or where TRANSPOSED stored as n x k;
//   A and B T elements, C OUT elements, fp32 sums, int32 of integers; where OUT is int the sums are
//   stored as they are
//
// A block computes a tile of C, each of its warps WARP_M x WARP_N of it. While one stage of A and B is
// multiplied, the next ones are copied to shared memory:
//
//                     TILE_N                       a stage in shared memory
//              +----------+----------+               A: TILE_M rows of DEPTH elements + 16 bytes
//      TILE_M  | warp 0   | warp 1   |               B: DEPTH rows of TILE_N elements + 16 bytes, or
//              |  +--+--+ |          |                  TILE_N rows as of A where TRANSPOSED
//              |  |16 x 8 |          |               the 16 spread the rows that ldmatrix reads at
//              +--+--+----+----------+               a time over all banks
//              | warp 2   | warp 3   |
//              +----------+----------+             STAGES of them take turns
//
// Template parameters
//   T, OUT            __half or __nv_bfloat16; the same or float
//                     scaled: __nv_fp8_e4m3 (from sm_89 on); __half, __nv_bfloat16, float
//                             signed char; signed char (the nearest, at most 127), int
//   TRANSPOSED        0: B is k x n; 1: B is n x k, always where scaled: ldmatrix transposes no bytes
//   A_VEC, B_VEC      elements that are copied at a time: 1, 2, 4, ..., 16 bytes
//   TILE_M, TILE_N    32 to 256
//   WARP_M, WARP_N    multiples of 16
//   DEPTH             elements of a step along k: whole 32 bytes
//   STAGES            2 or more
//   PROMOTE           1: sums of a step are added to the others in fp32, because tensor cores add up
//                     products of 8-bit floats with fewer digits
//
// Arguments        group: tiles are taken down the columns of groups of so many rows of tiles, so that
//                  blocks that run at the same time share operands in the L2 cache
// Constraints      A_VEC divides k; B_VEC divides n, or k where TRANSPOSED
// Block            32 * (TILE_M / WARP_M) * (TILE_N / WARP_N) threads
// Grid             ceil(m / TILE_M) * ceil(n / TILE_N) blocks
// Shared memory    STAGES * sizeof(T) * (TILE_M * (DEPTH + PAD) + (TRANSPOSED ? TILE_N * (DEPTH + PAD)
//                  : DEPTH * (TILE_N + PAD))) bytes, PAD = 16 / sizeof(T), dynamic
// Memory traffic   ceil(n / TILE_N) * m * k + ceil(m / TILE_M) * k * n elements read, m * n written

#include "../common/async_copy.cuh"
#include "../common/element_types.cuh"

namespace gemm_tc_detail {

/// Copies VEC elements, or writes zeros.
template <int VEC, typename T>
__device__ __forceinline__ void start_copy_of(T* to, const T* from, bool inside) {
  constexpr int kBytes = VEC * static_cast<int>(sizeof(T));
  if constexpr (kBytes >= 4) {
    start_copy<kBytes>(to, from, inside);
  } else {
#pragma unroll
    for (int i = 0; i < VEC; ++i) to[i] = inside ? from[i] : T{};
  }
}

/// Copies ROWS x COLUMNS elements that begin at (row, column) of a matrix of `rows` x `columns` to
/// rows of PITCH elements, with zeros for what lies outside.
template <int ROWS, int COLUMNS, int PITCH, int VEC, int THREADS, typename T>
__device__ __forceinline__ void start_copy_of_tile(T* to, const T* from, int row, int column,
                                                   int rows, int columns) {
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

/// Four matrices of 8 rows of 16 bytes; lane l has the address of row l % 8 of matrix l / 8.
template <bool TRANSPOSE>
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const void* from) {
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

// SUMS: the constraint of the sums' registers.
#define SMEMTUNE_MMA(SHAPE_AND_TYPES, SUMS)                                       \
  asm volatile("mma.sync.aligned." SHAPE_AND_TYPES                                \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : SUMS(sum[0]), SUMS(sum[1]), SUMS(sum[2]), SUMS(sum[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_upper), "r"(b_lower))

/// sum[16][8] += a[16][32 bytes] * b[32 bytes][8], spread over the lanes of a warp.
template <typename T, typename Sum>
__device__ __forceinline__ void multiply(Sum (&sum)[4], const unsigned (&a)[4], unsigned b_upper,
                                         unsigned b_lower) {
  if constexpr (is_same<T, __half>) {
    SMEMTUNE_MMA("m16n8k16.row.col.f32.f16.f16.f32", "+f");
  } else if constexpr (is_same<T, __nv_bfloat16>) {
    SMEMTUNE_MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "+f");
  } else if constexpr (is_same<T, __nv_fp8_e4m3>) {
    SMEMTUNE_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f");
  } else {
    SMEMTUNE_MMA("m16n8k32.row.col.s32.s8.s8.s32", "+r");
  }
}

#undef SMEMTUNE_MMA

/// The block's tile. `scale` is used where T has 8 bits.
template <typename T, typename OUT, int TRANSPOSED, int A_VEC, int B_VEC, int TILE_M, int TILE_N,
          int WARP_M, int WARP_N, int DEPTH, int STAGES, int PROMOTE, int THREADS>
__device__ __forceinline__ void compute_tile(const T* __restrict__ a, const T* __restrict__ b,
                                             OUT* __restrict__ c, float scale, int m, int n, int k,
                                             int group) {
  using Sum = typename SumOf<T>::Type;
  constexpr int kPad = 16 / static_cast<int>(sizeof(T));
  constexpr int kDepth = 32 / static_cast<int>(sizeof(T));  // Of one product.
  constexpr int kAPitch = DEPTH + kPad;
  constexpr int kBRows = TRANSPOSED != 0 ? TILE_N : DEPTH;
  constexpr int kBColumns = TRANSPOSED != 0 ? DEPTH : TILE_N;
  constexpr int kBPitch = kBColumns + kPad;
  constexpr int kA = TILE_M * kAPitch;  // Elements.
  constexpr int kStage = kA + kBRows * kBPitch;
  static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "a tile has whole warps");
  static_assert(WARP_M % 16 == 0 && WARP_N % 16 == 0, "matrices are read in pairs of 8");
  static_assert(STAGES >= 2, "one stage is multiplied while others are copied");
  static_assert(DEPTH % kDepth == 0, "a step has whole products");
  static_assert(TRANSPOSED != 0 || sizeof(T) == 2, "ldmatrix transposes no bytes");
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  T* const shared = reinterpret_cast<T*>(shared_bytes);

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

  const auto start_copies = [&](int step) {
    T* const stage = shared + step % STAGES * kStage;
    const int depth = step * DEPTH;
    if (depth < k) {
      start_copy_of_tile<TILE_M, DEPTH, kAPitch, A_VEC, THREADS>(stage, a, row, depth, m, k);
      if constexpr (TRANSPOSED != 0) {
        start_copy_of_tile<kBRows, kBColumns, kBPitch, B_VEC, THREADS>(stage + kA, b, column, depth,
                                                                       n, k);
      } else {
        start_copy_of_tile<kBRows, kBColumns, kBPitch, B_VEC, THREADS>(stage + kA, b, depth, column,
                                                                       k, n);
      }
    }
    close_copies();  // Every step closes a group, also one that copies nothing.
  };

  Sum sums[WARP_M / 16][WARP_N / 8][4] = {};
  for (int step = 0; step < STAGES - 1; ++step) start_copies(step);
  const int steps = (k + DEPTH - 1) / DEPTH;
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();  // The stage is there, and nobody reads the one before any more.
    start_copies(step + STAGES - 1);
    const T* const a_tile = shared + step % STAGES * kStage;
    const T* const b_tile = a_tile + kA;
    Sum sums_before[WARP_M / 16][WARP_N / 8][4];
    if constexpr (PROMOTE != 0) {
#pragma unroll
      for (int e = 0; e < WARP_M * WARP_N / 32; ++e) {
        (&sums_before[0][0][0])[e] = (&sums[0][0][0])[e];
        (&sums[0][0][0])[e] = 0;
      }
    }
#pragma unroll
    for (int depth = 0; depth < DEPTH; depth += kDepth) {
      unsigned a_parts[WARP_M / 16][4];
#pragma unroll
      for (int i = 0; i < WARP_M / 16; ++i) {
        const int at_row = warp_row + i * 16 + lane % 16;
        load_matrices<false>(a_parts[i], a_tile + at_row * kAPitch + depth + lane / 16 * kPad);
      }
#pragma unroll
      for (int j = 0; j < WARP_N / 16; ++j) {
        // The first and the second 16 bytes of eight columns, then of the next eight.
        unsigned b_parts[4];
        const int at_column = warp_column + j * 16 + lane / 16 * 8;
        const int at_depth = depth + lane / 8 % 2 * kPad;
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
    if constexpr (PROMOTE != 0) {
#pragma unroll
      for (int e = 0; e < WARP_M * WARP_N / 32; ++e) {
        (&sums[0][0][0])[e] += (&sums_before[0][0][0])[e];
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
        const long long index = static_cast<long long>(at_row) * n + at_column;
        if constexpr (sizeof(T) == 1) {
          set_element(c, index, scaled<OUT>(sums[i][j][e], scale));
        } else {
          set_element(c, index, sums[i][j][e]);
        }
      }
    }
  }
}

}  // namespace gemm_tc_detail

template <typename T, typename OUT, int TRANSPOSED, int A_VEC, int B_VEC, int TILE_M, int TILE_N,
          int WARP_M, int WARP_N, int DEPTH, int STAGES,
          int THREADS = (32 * (TILE_M / WARP_M) * (TILE_N / WARP_N))>
__global__ void __launch_bounds__(THREADS)
    gemm_tc_mma(const T* __restrict__ a, const T* __restrict__ b, OUT* __restrict__ c, int m, int n,
                int k, int group) {
  static_assert(sizeof(T) == 2, "sums of products of 8 bits are scaled");
  gemm_tc_detail::compute_tile<T, OUT, TRANSPOSED, A_VEC, B_VEC, TILE_M, TILE_N, WARP_M, WARP_N,
                               DEPTH, STAGES, 0, THREADS>(a, b, c, 1, m, n, k, group);
}

template <typename T, typename OUT, int VEC, int TILE_M, int TILE_N, int WARP_M, int WARP_N,
          int DEPTH, int STAGES, int PROMOTE,
          int THREADS = (32 * (TILE_M / WARP_M) * (TILE_N / WARP_N))>
__global__ void __launch_bounds__(THREADS)
    gemm_tc_mma_scaled(const T* __restrict__ a, const T* __restrict__ b, OUT* __restrict__ c,
                       const float* __restrict__ scale, int m, int n, int k, int group) {
  static_assert(sizeof(T) == 1, "sums of products of 16 bits are stored as they are");
  gemm_tc_detail::compute_tile<T, OUT, 1, VEC, VEC, TILE_M, TILE_N, WARP_M, WARP_N, DEPTH, STAGES,
                               PROMOTE, THREADS>(a, b, c, *scale, m, n, k, group);
}
