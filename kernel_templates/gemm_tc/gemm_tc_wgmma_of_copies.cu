// Matrix product on the tensor cores of Hopper (sm_90a) where rows begin anywhere: copies, wgmma.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k and C: m x n, row-major; B: k x n, row-major, or where TRANSPOSED stored as n x k;
//   A and B T elements, C OUT elements, fp32 sums
//
// As gemm_tc_wgmma, which has the picture, but that TMA, which takes rows of a multiple of 16 bytes,
// is not used: the four warps of the producer copy by cp.async, each its rows of a stage, as many
// elements at a time as every row of the operand is aligned to. The last kAhead stages are still on
// their way while the one before them is handed to the consumers.
//
// cp.async copies 4 bytes or more. Where rows have an odd number of elements, every other one begins
// between two words, and is copied from one element before it on. When it has arrived, its warp moves
// it by that element to where the tensor cores expect it:
//
//   in global memory        | . a | b c | d e |  ...  | y z |      words of 4 bytes
//   as copied               | . a | b c | d e |  ...  | x y | z .  the last word beside the stage
//   as multiplied           | a b | c d | e f |  ...  | y z |
//
// Template parameters
//   T, OUT                 __half or __nv_bfloat16; the same or float
//   A_VEC, B_VEC           elements that rows of A and B are aligned to: 1, 2, 4 or 8
//   C_VEC                  likewise of C, at most 16 bytes
//   TRANSPOSED, SWAP, TILE_P, TILE_Q, CONSUMERS, STAGES, SPLIT, DEFER    as gemm_tc_wgmma
//
// Arguments        group: as gemm_tc_wgmma
// Constraints      A_VEC divides k; B_VEC divides n, or k where TRANSPOSED; C_VEC divides n
//                  TRANSPOSED, or a tile has a multiple of 64 columns of B
//                  SPLIT > 1: each block computes one tile, and the ring has room for its sums
// Block            128 * (CONSUMERS + 1) threads
// Cluster          SPLIT blocks
// Grid             any number of clusters: as many as fit the GPU
// Shared memory    STAGES * (TILE_P + TILE_Q) * 130 + CONSUMERS * 8192 + (2 * STAGES + 1) * 8 bytes,
//                  dynamic

#include "../common/async_copy.cuh"
#include "wgmma_tiles.cuh"

namespace gemm_tc_detail {

/// Copies the first `bytes` of BYTES, and writes zeros behind them. Nothing is read where there are
/// none.
template <int BYTES>
__device__ __forceinline__ void start_copy_of(unsigned to, const void* from, int bytes) {
  bytes = max(0, min(BYTES, bytes));
  if constexpr (BYTES == 16) {  // Past the L1 cache, which holds nothing that is read once.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(BYTES),
                 "r"(bytes)
                 : "memory");
  }
}

/// ROWS rows of 128 bytes of an operand, as they lie in a stage: rows of the matrix where it has its
/// depth along them; otherwise boxes of 64 columns, one behind the other, each of 64 rows.
template <typename T, int VEC, int ROWS, bool X_IS_DEPTH>
struct CopiedRows {
  // Of a copy: lanes that copy one row, and rows that lie beside each other in a warp.
  static constexpr int kLanes = VEC == 8 ? 8 : VEC == 4 ? 16 : 32;
  static constexpr int kBeside = 32 / kLanes;
  // A warp copies so many neighboring rows, and those of all warps lie behind each other.
  static constexpr int kOfWarp = kBeside < 2 ? 2 : kBeside;
  static constexpr int kTogether = 4 * kOfWarp;
  static constexpr int kTimes = (X_IS_DEPTH ? ROWS : 64) / kTogether;
  static constexpr int kElements = VEC == 1 ? 2 : VEC;  // Of a copy.
  static constexpr int kOddRows = ROWS / 8;             // Of a warp.
  static_assert(ROWS % 16 == 0 && (X_IS_DEPTH || ROWS % 64 == 0), "whole rows of all warps");

  const T* from;
  int lines, length;  // Rows of the matrix, and their elements.

  /// Row `first` + i, or column, of the operand becomes row i; `depth` is the first of the depth. The
  /// last words of odd rows go to `ends`.
  __device__ __forceinline__ void start_copies(unsigned to, unsigned ends, int first,
                                               int depth) const {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
    for (int box = 0; box < (X_IS_DEPTH ? 1 : ROWS / 64); ++box) {
      const int line = X_IS_DEPTH ? first : depth;
      const int column = X_IS_DEPTH ? depth : first + box * 64;
#pragma unroll
      for (int e = 0; e < kOfWarp / kBeside; ++e) {
        // Every later row of this lane is kTogether rows below, which the swizzle does not tell apart.
        const int row = warp * kOfWarp + e * kBeside + lane / kLanes;
        const int before = VEC == 1 ? row % 2 : 0;
        const int at = column + lane % kLanes * kElements - before;
        const int bytes = (length - at) * static_cast<int>(sizeof(T));
        const T* place = from + static_cast<long long>(line + row) * length + at;
        const unsigned there =
            to + swizzled<128>(row * 128 + lane % kLanes * (kElements * sizeof(T)));
#pragma unroll(kTimes < 8 ? kTimes : 8)
        for (int i = 0; i < kTimes; ++i, place += static_cast<long long>(kTogether) * length) {
          const bool inside = line + row + i * kTogether < lines;
          const unsigned here = there + i * (kTogether * 128);
          start_copy_of<kElements* static_cast<int>(sizeof(T))>(here, place, inside ? bytes : 0);
        }
      }
      if constexpr (VEC == 1) {
        // Lane i copies the end of the i-th odd row of its warp.
        for (int i = lane; i < kTimes; i += 32) {
          const int row = i * kTogether + warp * 2 + 1;
          const int at = column + 63;
          start_copy_of<4>(ends + (i * 4 + warp) * 4,
                           from + static_cast<long long>(line + row) * length + at,
                           line + row < lines ? (length - at) * static_cast<int>(sizeof(T)) : 0);
        }
      }
      to += 64 * 128;
      ends += 64 * 2;
    }
  }

  /// Moves the odd rows of this warp, which have arrived, by one element.
  __device__ __forceinline__ void move_odd_rows(unsigned rows, unsigned ends) const {
    if constexpr (VEC == 1) {
      const int warp = static_cast<int>(threadIdx.x) / 32;
      const int lane = static_cast<int>(threadIdx.x) % 32;
      const int row = warp * 2 + 1;
      const unsigned word = rows + swizzled<128>(row * 128 + lane * 4);
      const bool last = lane == 31;
      const unsigned next = last ? ends + warp * 4 : rows + swizzled<128>(row * 128 + lane * 4 + 4);
      const int step = last ? 16 : 8 * 128;
      constexpr int kAtOnce = kOddRows < 8 ? kOddRows : 8;
      static_assert(kOddRows % 2 == 0, "whole rows of all warps");
#pragma unroll 1
      for (int i = 0; i < kOddRows; i += kAtOnce) {
        unsigned low[kAtOnce], high[kAtOnce];
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
          if (kOddRows % kAtOnce != 0 && i + j >= kOddRows) break;
          low[j] = hopper::load_word(word + (i + j) * (8 * 128));
          high[j] = hopper::load_word(next + (i + j) * step);
        }
        __syncwarp();
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
          if (kOddRows % kAtOnce != 0 && i + j >= kOddRows) break;
          hopper::store(word + (i + j) * (8 * 128),
                        static_cast<int>(__funnelshift_r(low[j], high[j], 16)));
        }
      }
    }
  }
};

/// Tiles whose operands warps copy, and whose panels they store by as many elements as rows are
/// aligned to.
template <typename T, typename OUT, int A_VEC, int B_VEC, int C_VEC, int TRANSPOSED, int SWAP,
          int TILE_P, int TILE_Q, int STAGES>
struct ByCopies {
  static constexpr int kThreads = 128;
  static constexpr int kArrivals = 4;  // One of each warp.
  static constexpr int kRegisters = 80;
  static constexpr int kBytesOfStage = (TILE_P + TILE_Q) * 2;  // The last words of odd rows.
  static constexpr bool kStoresByBox = false;
  static constexpr int kAhead = STAGES / 2;
  using X = CopiedRows<T, SWAP != 0 ? B_VEC : A_VEC, TILE_P, SWAP == 0 || TRANSPOSED != 0>;
  using Y = CopiedRows<T, SWAP != 0 ? A_VEC : B_VEC, TILE_Q, SWAP != 0 || TRANSPOSED != 0>;

  X x;
  Y y;
  OUT* c;
  int m, n;
  int started = 0;       // Stages, at most kAhead.
  Turn<STAGES> arrives;  // The first of those that are on their way.

  __device__ __forceinline__ ByCopies(const T* a, const T* b, OUT* to, int rows, int columns,
                                      int depth)
      : x(rows_of<X, SWAP != 0>(a, b, rows, columns, depth)),
        y(rows_of<Y, SWAP == 0>(a, b, rows, columns, depth)),
        c(to),
        m(rows),
        n(columns) {}

  template <typename Rows, bool OF_B>
  __device__ __forceinline__ static Rows rows_of(const T* a, const T* b, int m, int n, int k) {
    if constexpr (!OF_B) {
      return {a, m, k};
    } else {
      return {b, TRANSPOSED != 0 ? n : k, TRANSPOSED != 0 ? k : n};
    }
  }

  __device__ __forceinline__ void begin() const {}
  __device__ __forceinline__ void begin_to_fill(int, int, int) const {}

  template <typename LAYOUT>
  __device__ __forceinline__ void fill(const LAYOUT& at, int stage, int p, int q, int depth) {
    x.start_copies(at.stage(stage), at.more(stage), p, depth);
    y.start_copies(at.stage(stage) + TILE_P * 128, at.more(stage) + TILE_P * 2, q, depth);
    close_copies();
    if (started == kAhead) {
      wait_for_copies<kAhead>();
      hand_over(at);
    } else {
      ++started;
    }
  }

  template <typename LAYOUT>
  __device__ __forceinline__ void finish(const LAYOUT& at) {
    wait_for_copies<0>();
    for (; started > 0; --started) hand_over(at);
  }

  /// Gives the first of the stages that were on their way, and have arrived, to the consumers.
  template <typename LAYOUT>
  __device__ __forceinline__ void hand_over(const LAYOUT& at) {
    const int stage = arrives.stage;
    __syncwarp();  // All of this warp have waited.
    x.move_odd_rows(at.stage(stage), at.more(stage));
    y.move_odd_rows(at.stage(stage) + TILE_P * 128, at.more(stage) + TILE_P * 2);
    hopper::publish_to_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0) hopper::arrive(at.full(stage));
    arrives.next();
  }

  template <int ROWS, int COLUMNS, int THREADS>
  __device__ __forceinline__ void store_panel(int at_x, int at_y, unsigned panel,
                                              int thread) const {
    struct alignas(C_VEC * sizeof(OUT)) Piece {
      OUT element[C_VEC];
    };
    constexpr int kOfRow = COLUMNS / C_VEC;
    constexpr int kRowBytes = COLUMNS * static_cast<int>(sizeof(OUT));
    extern __shared__ __align__(1024) unsigned char stages[];
    const unsigned char* const from = stages + (panel - hopper::shared_address(stages));
    static_assert(ROWS * kOfRow % THREADS == 0 || ROWS * kOfRow < THREADS, "threads share evenly");
#pragma unroll 4
    for (int first = 0; first < ROWS * kOfRow; first += THREADS) {
      const int row = (first + thread) / kOfRow;
      const int column = (first + thread) % kOfRow * C_VEC;
      if (row >= ROWS || at_y + row >= m || at_x + column >= n) continue;
      *reinterpret_cast<Piece*>(c + static_cast<long long>(at_y + row) * n + at_x + column) =
          *reinterpret_cast<const Piece*>(
              from + swizzled<kRowBytes>(row * kRowBytes + column * static_cast<int>(sizeof(OUT))));
    }
  }
};

}  // namespace gemm_tc_detail

template <typename T, typename OUT, int A_VEC, int B_VEC, int C_VEC, int TRANSPOSED, int SWAP,
          int TILE_P, int TILE_Q, int CONSUMERS, int STAGES, int SPLIT, int DEFER,
          int THREADS = (128 * (CONSUMERS + 1))>
__global__ void __launch_bounds__(THREADS, 1)
    gemm_tc_wgmma_of_copies(const T* __restrict__ a, const T* __restrict__ b, OUT* __restrict__ c,
                            int m, int n, int k, int group) {
  static_assert(sizeof(T) == 2, "rows are moved by elements of 16 bits");
  gemm_tc_detail::ByCopies<T, OUT, A_VEC, B_VEC, C_VEC, TRANSPOSED, SWAP, TILE_P, TILE_Q, STAGES>
      transfers(a, b, c, m, n, k);
  gemm_tc_detail::compute_tiles<T, OUT, TRANSPOSED, SWAP, TILE_P, TILE_Q, CONSUMERS, STAGES, 1, 1,
                                SPLIT, 1, DEFER, 0>(transfers, 1, m, n, k, group, 0);
}
