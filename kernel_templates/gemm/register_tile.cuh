// The tile of C that a block computes, in the registers of its threads: what gemm_register_tiled
// and gemm_stream_k have in common. gemm_register_tiled.cu has the picture.

#pragma once

#include "../common/async_copy.cuh"
#include "../common/opaque.cuh"

namespace gemm_detail {

template <typename T, int N>
struct alignas(sizeof(T) * N) Piece {
  T element[N];
};

/// Row and column of the first element of something.
struct Place {
  int row;
  int column;
};

/// Where a tile begins. Tiles count down the columns of groups of `group` rows of tiles.
template <int TILE_M, int TILE_N>
__device__ __forceinline__ Place tile_place(int tile, int m, int n, int group) {
  const int tiles_m = (m + TILE_M - 1) / TILE_M;
  const int tiles_n = (n + TILE_N - 1) / TILE_N;
  const int first_row = tile / (group * tiles_n) * group;
  const int rows = min(group, tiles_m - first_row);
  const int within = tile % (group * tiles_n);
  return {(first_row + within % rows) * TILE_M, within / rows * TILE_N};
}

template <typename T, int VEC, int TILE_M, int TILE_N, int DEPTH, int ROWS, int COLS, int STAGES>
struct RegisterTile {
  static constexpr int PIECE = 16 / static_cast<int>(sizeof(T));  // Elements.
  static constexpr int THREADS = TILE_M * TILE_N / (ROWS * COLS);
  // A warp has 4 x 8 threads, unless the tile is too low or too narrow for that.
  static constexpr int LANES_M = TILE_M < 4 * ROWS   ? TILE_M / ROWS
                                 : TILE_N < 8 * COLS ? 32 / (TILE_N / COLS)
                                                     : 4;
  static constexpr int LANES_N = 32 / LANES_M;
  static constexpr int WARP_M = LANES_M * ROWS;
  static constexpr int WARP_N = LANES_N * COLS;
  // A's tile is stored transposed; a piece more in each row spreads its elements over the banks.
  static constexpr int A_ROW = TILE_M + PIECE;
  static constexpr int STAGE = DEPTH * (A_ROW + TILE_N);  // Elements.
  // From one copy of a thread to its next: rows of A, columns and depths of B.
  static constexpr int A_STEP = THREADS / DEPTH;
  static constexpr int A_COPIES = (TILE_M + A_STEP - 1) / A_STEP;
  static constexpr int B_PER_DEPTH = TILE_N / VEC;
  static constexpr int B_COPIES_N = B_PER_DEPTH > THREADS ? B_PER_DEPTH / THREADS : 1;
  static constexpr int B_STEP = B_PER_DEPTH > THREADS ? 1 : THREADS / B_PER_DEPTH;
  static constexpr int B_COPIES = (DEPTH + B_STEP - 1) / B_STEP * B_COPIES_N;
  static_assert(PIECE % VEC == 0, "a copy has at most 16 bytes");
  static_assert(TILE_M % WARP_M == 0 && TILE_N % WARP_N == 0, "a block has whole warps");
  static_assert(ROWS % PIECE == 0 && COLS % PIECE == 0, "a thread reads pieces of 16 bytes");
  static_assert(DEPTH % 2 == 0, "fragments take turns");
  static_assert(THREADS % DEPTH == 0, "a thread copies one depth of A's rows");
  static_assert(B_PER_DEPTH % THREADS == 0 || THREADS > B_PER_DEPTH,
                "a thread copies the same columns of B");
  static_assert(STAGES >= 2, "one stage is multiplied while others are loaded");

  static constexpr int PIECES = ROWS * COLS / PIECE;  // Of a thread's sums.

  using Fragment = Piece<T, PIECE>;

  T sums[ROWS][COLS];

  // Two lanes that follow each other differ in their row, so that each quarter of a warp, which reads
  // 16 bytes per thread at a time, reads two pieces of A and four of B.
  static __device__ __forceinline__ int lane_at(int row, int column) {
    return LANES_M == 1 ? column : row % 2 + column * 2 + row / 2 * (2 * LANES_N);
  }

  /// Of the warp's tile in the block's.
  static __device__ __forceinline__ Place warp_place() {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    return {warp / (TILE_N / WARP_N) * WARP_M, warp % (TILE_N / WARP_N) * WARP_N};
  }

  /// Of the thread's first piece in the block's tile.
  static __device__ __forceinline__ Place own_place() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int lane_m = LANES_M == 1 ? 0 : lane % 2 + lane / (2 * LANES_N) * 2;
    const int lane_n = LANES_M == 1 ? lane : lane / 2 % LANES_N;
    const Place warp = warp_place();
    return {warp.row + lane_m * PIECE, warp.column + lane_n * PIECE};
  }

  /// Sums up the depths first_depth to last_depth. `shared` is STAGES * STAGE elements, which the
  /// whole block may use again behind a barrier.
  __device__ __forceinline__ void multiply(const T* __restrict__ a, const T* __restrict__ b, int m,
                                           int n, int k, Place place, int first_depth,
                                           int last_depth, T* shared) {
    // What this thread copies: one depth of some rows of A, VEC columns of some depths of B.
    const int thread = static_cast<int>(threadIdx.x);
    const int a_depth = thread % DEPTH;
    const int a_row = thread / DEPTH;
    const int b_depth = thread / B_PER_DEPTH;
    const int b_column = thread % B_PER_DEPTH * VEC;
    const int rows_left = min(m - place.row, TILE_M) - a_row;
    const int columns_left = n - place.column - b_column;
    int depths_left = last_depth - first_depth;
    const T* a_from = a + static_cast<long long>(place.row + a_row) * k + first_depth + a_depth;
    const T* b_from =
        b + static_cast<long long>(first_depth + b_depth) * n + place.column + b_column;

    // Behind the edges there are zeros. Every step closes a group, also one that copies nothing.
    const auto start_copies = [&](T* stage) {
      T* const a_tile = stage + a_depth * A_ROW + a_row;
      T* const b_tile = stage + DEPTH * A_ROW + b_depth * TILE_N + b_column;
#pragma unroll
      for (int copy = 0; copy < A_COPIES; ++copy) {
        const int row = copy * A_STEP;
        if (TILE_M % A_STEP != 0 && a_row + row >= TILE_M) continue;
        start_copy<sizeof(T)>(a_tile + row, a_from + static_cast<long long>(row) * k,
                              row < rows_left && a_depth < depths_left);
      }
#pragma unroll
      for (int copy = 0; copy < B_COPIES; ++copy) {
        const int depth = copy / B_COPIES_N * B_STEP;
        const int column = copy % B_COPIES_N * THREADS * VEC;
        if (DEPTH % B_STEP != 0 && b_depth + depth >= DEPTH) continue;
        // Threads that are left over where they copy whole depths.
        if (THREADS > B_PER_DEPTH && THREADS % B_PER_DEPTH != 0 && b_depth >= B_STEP) continue;
        start_copy<VEC * sizeof(T)>(b_tile + depth * TILE_N + column,
                                    b_from + static_cast<long long>(depth) * n + column,
                                    b_depth + depth < depths_left && column < columns_left);
      }
      close_copies();
      a_from += DEPTH;
      b_from += static_cast<long long>(DEPTH) * n;
      depths_left -= DEPTH;
    };

    const Place own = own_place();
    Fragment a_fragments[2][ROWS / PIECE];
    Fragment b_fragments[2][COLS / PIECE];
    const auto read_fragments = [&](const T* stage, int depth) {
      const T* const a_tile = stage + depth * A_ROW + own.row;
      const T* const b_tile = stage + DEPTH * A_ROW + depth * TILE_N + own.column;
#pragma unroll
      for (int i = 0; i < ROWS / PIECE; ++i) {
        a_fragments[depth % 2][i] =
            *reinterpret_cast<const Fragment*>(a_tile + i * LANES_M * PIECE);
      }
#pragma unroll
      for (int j = 0; j < COLS / PIECE; ++j) {
        b_fragments[depth % 2][j] =
            *reinterpret_cast<const Fragment*>(b_tile + j * LANES_N * PIECE);
      }
    };

#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < COLS; ++j) sums[i][j] = T(0);
    }

    T* to = shared;
    for (int stage = 0; stage < STAGES - 1; ++stage) {
      start_copies(to);
      to += STAGE;
    }
    T* from = shared;
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    read_fragments(from, 0);
    for (int depth_done = first_depth; depth_done < last_depth; depth_done += DEPTH) {
#pragma unroll
      for (int depth = 0; depth < DEPTH; ++depth) {
        if (depth + 1 < DEPTH) {
          read_fragments(from, depth + 1);
        } else {
          // The next stage is there, and nobody reads this one any more.
          wait_for_copies<STAGES - 2>();
          __syncthreads();
          to = from;
          from = from == shared + (STAGES - 1) * STAGE ? shared : from + STAGE;
          read_fragments(from, 0);
        }
        if (depth == 0) start_copies(to);
          // Back and forth along the longer side, for which the compiler finds registers whose
          // banks conflict least.
#pragma unroll
        for (int outer = 0; outer < min(ROWS, COLS); ++outer) {
#pragma unroll
          for (int inner = 0; inner < max(ROWS, COLS); ++inner) {
            const int along = outer % 2 == 0 ? inner : max(ROWS, COLS) - 1 - inner;
            const int i = ROWS > COLS ? along : outer;
            const int j = ROWS > COLS ? outer : along;
            sums[i][j] += a_fragments[depth % 2][i / PIECE].element[i % PIECE] *
                          b_fragments[depth % 2][j / PIECE].element[j % PIECE];
          }
        }
      }
    }
  }

  /// A thread's sums by pieces of 16 bytes, row after row.
  __device__ __forceinline__ Fragment piece(int number) const {
    Fragment piece;
#pragma unroll
    for (int v = 0; v < PIECE; ++v) {
      piece.element[v] = sums[number * PIECE / COLS][number * PIECE % COLS + v];
    }
    return piece;
  }

  /// Elements that are stored together must lie in neighboring registers. Were these the sums' own,
  /// many a multiply-add would find its three operands in one bank of registers; a zero that the
  /// compiler does not know moves them only here.
  static __device__ __forceinline__ Fragment moved(Fragment piece) {
    const T zero = static_cast<T>(blockDim.z - 1);
#pragma unroll
    for (int v = 0; v < PIECE; ++v) piece.element[v] += zero;
    return piece;
  }

  /// From a thread's first piece in the tile to another.
  static __device__ __forceinline__ Place offset_of(int number) {
    const int row = number * PIECE / COLS;
    return {row / PIECE * LANES_M * PIECE + row % PIECE, number * PIECE % COLS * LANES_N};
  }

  /// How a warp stores pieces where VEC is less: its lanes exchange them through shared memory, so
  /// that neighbors store neighboring elements.
  class Exchange {
   public:
    /// `shared` has a piece for each thread of the block.
    __device__ __forceinline__ Exchange(T* c, int m, int n, Place place, Fragment* shared)
        : own_(shared + threadIdx.x) {
      constexpr int kRow = LANES_N * PIECE;  // Elements of a row that the warp stores at a time.
      const Place warp = warp_place();
      const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
      for (int i = 0; i < STORES; ++i) {
        const int at = (i * 32 + lane) * VEC;
        const Place first = {place.row + warp.row + at / kRow * PIECE,
                             place.column + warp.column + at % kRow};
        from_[i] = own_[lane_at(at / kRow, at % kRow / PIECE) - lane].element + at % PIECE;
        to_[i] = c + static_cast<long long>(first.row) * n + first.column;
        left_[i] = {m - first.row, n - first.column};
      }
    }

    /// Goes on so many elements behind where it is.
    __device__ __forceinline__ void advance(long long elements) {
#pragma unroll
      for (int i = 0; i < STORES; ++i) to_[i] += elements;
    }

    /// Stores the pieces at this offset, of which advance() has gone the rows.
    __device__ __forceinline__ void store(const Fragment& piece, Place offset) const {
      *own_ = piece;
      __syncwarp();
#pragma unroll
      for (int i = 0; i < STORES; ++i) {
        if (offset.row < left_[i].row && offset.column < left_[i].column) {
          *reinterpret_cast<Piece<T, VEC>*>(to_[i] + offset.column) =
              *reinterpret_cast<const Piece<T, VEC>*>(from_[i]);
        }
      }
      __syncwarp();
    }

   private:
    static constexpr int STORES = PIECE / VEC;
    Fragment* own_;
    const T* from_[STORES];
    T* to_[STORES];
    Place left_[STORES];  // Rows and columns of C.
  };

  /// Of the sums of one piece. Where VEC is less all lanes of a warp store that of the same number at a
  /// time; `shared` as Exchange has it.
  static __device__ __forceinline__ void store_piece(T* __restrict__ c, int m, int n, Place place,
                                                     int number, const Fragment& piece,
                                                     Fragment* shared) {
    const Place offset = offset_of(number);
    if constexpr (VEC == PIECE) {
      const Place own = own_place();
      const Place to = {place.row + own.row + offset.row,
                        place.column + own.column + offset.column};
      if (to.row >= m || to.column >= n) return;
      *reinterpret_cast<Fragment*>(c + static_cast<long long>(to.row) * n + to.column) =
          moved(piece);
    } else {
      Exchange exchange(c, m, n, place, shared);
      exchange.advance(static_cast<long long>(offset.row) * n);
      exchange.store(moved(piece), offset);
    }
  }

  /// `shared` as in multiply(), behind which this comes.
  __device__ __forceinline__ void store(T* __restrict__ c, int m, int n, Place place,
                                        T* shared) const {
    auto* const pieces = reinterpret_cast<Fragment*>(shared);
    if constexpr (VEC == PIECE) {
#pragma unroll
      for (int number = 0; number < PIECES; ++number) {
        store_piece(c, m, n, place, number, piece(number), pieces);
      }
    } else {
      wait_for_copies<0>();
      __syncthreads();
      Exchange exchange(c, m, n, place, pieces);
#pragma unroll
      for (int number = 0; number < PIECES; ++number) {
        const Place offset = offset_of(number);
        exchange.store(moved(piece(number)), offset);
        if (number + 1 < PIECES) {
          // Opaque, or else addresses of all rows take up registers at once.
          exchange.advance(static_cast<long long>(offset_of(number + 1).row - offset.row) *
                           opaque(n));
        }
      }
    }
  }
};

}  // namespace gemm_detail
