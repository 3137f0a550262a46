// Matrix product through two pairs of tiles in shared memory: one is multiplied while the next is
// on its way.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x n, C: m x n, all row-major and dense, T elements; the sum is a T
//
// Tiles, threads and registers are those of gemm_tiled. Before a block multiplies a pair of tiles,
// it asks for the next pair and keeps it in registers; when it has multiplied, it stores them in
// the other half of shared memory. So memory's latency is hidden behind arithmetic, and one barrier
// per step is enough. Two large pairs need more than 48 KB, therefore the memory is dynamic:
//
//   shared   | A tile 0 | A tile 1 | B tile 0 | B tile 1 |
//             TILE rows of DEPTH + PAD elements    DEPTH rows of TILE elements
//
// Template parameters
//   T      element type                          float, double, int
//   TILE   edge of C's tile, in elements         32, 64, 128
//   DEPTH  elements of a step along k            8, 16, 32
//   ROWS   rows of C per thread                  4, 8
//   COLS   columns of C per thread               4, 8
//   PAD    unused elements after each row of     0 or 1; 1 removes the bank conflicts of threads
//          A's tile                              that read different rows
//
// Constraints      TILE % ROWS == 0,  TILE % COLS == 0
//                  (TILE / ROWS) * (TILE / COLS) <= 1024 threads, which divide TILE * DEPTH
// Block            TILE / COLS x TILE / ROWS threads
// Grid             ceil(n / TILE) x ceil(m / TILE) blocks
// Shared memory    2 * (TILE * (DEPTH + PAD) + DEPTH * TILE) * sizeof(T) bytes, dynamic
// Memory traffic   as gemm_tiled

template <typename T, int TILE, int DEPTH, int ROWS, int COLS, int PAD,
          int THREADS = ((TILE / ROWS) * (TILE / COLS))>
__global__ void __launch_bounds__(THREADS)
    gemm_buffered(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n,
                  int k) {
  static_assert(TILE % ROWS == 0, "each thread must have a whole number of rows");
  static_assert(TILE % COLS == 0, "each thread must have a whole number of columns");
  static_assert(THREADS <= 1024, "a block has at most 1024 threads");
  static_assert(TILE * DEPTH % THREADS == 0, "each thread must load the same number of elements");
  constexpr int THREADS_X = TILE / COLS;
  constexpr int THREADS_Y = TILE / ROWS;
  constexpr int LOADS = TILE * DEPTH / THREADS;  // Per thread and tile.
  constexpr int A_ROW = DEPTH + PAD;

  extern __shared__ __align__(16) unsigned char shared_bytes[];
  T* const a_tiles = reinterpret_cast<T*>(shared_bytes);
  T* const b_tiles = a_tiles + 2 * TILE * A_ROW;

  const int thread_x = static_cast<int>(threadIdx.x);
  const int thread_y = static_cast<int>(threadIdx.y);
  const int thread = thread_y * THREADS_X + thread_x;
  const int first_row = static_cast<int>(blockIdx.y) * TILE;
  const int first_column = static_cast<int>(blockIdx.x) * TILE;

  T sums[ROWS][COLS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLS; ++j) sums[i][j] = T(0);
  }

  // The step that begins at -DEPTH multiplies nothing: it only loads the first pair.
  for (int first_depth = -DEPTH; first_depth < k; first_depth += DEPTH) {
    const int half = first_depth / DEPTH & 1;  // Of the pair to multiply.
    const int next_depth = first_depth + DEPTH;

    // Ask for the next pair.
    T a_next[LOADS];
    T b_next[LOADS];
    if (next_depth < k) {
#pragma unroll
      for (int load = 0; load < LOADS; ++load) {
        const int element = thread + load * THREADS;
        const int row = first_row + element / DEPTH;
        const int depth = next_depth + element % DEPTH;
        a_next[load] = row < m && depth < k ? a[static_cast<long long>(row) * k + depth] : T(0);
      }
#pragma unroll
      for (int load = 0; load < LOADS; ++load) {
        const int element = thread + load * THREADS;
        const int depth = next_depth + element / TILE;
        const int column = first_column + element % TILE;
        b_next[load] =
            depth < k && column < n ? b[static_cast<long long>(depth) * n + column] : T(0);
      }
    }

    // Multiply this pair.
    if (first_depth >= 0) {
      const T* const a_tile = a_tiles + half * TILE * A_ROW;
      const T* const b_tile = b_tiles + half * DEPTH * TILE;
#pragma unroll
      for (int depth = 0; depth < DEPTH; ++depth) {
        T a_elements[ROWS];
        T b_elements[COLS];
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
          a_elements[i] = a_tile[(thread_y + i * THREADS_Y) * A_ROW + depth];
        }
#pragma unroll
        for (int j = 0; j < COLS; ++j) {
          b_elements[j] = b_tile[depth * TILE + thread_x + j * THREADS_X];
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
#pragma unroll
          for (int j = 0; j < COLS; ++j) sums[i][j] += a_elements[i] * b_elements[j];
        }
      }
    }

    // Store the next pair in the other half, which nobody has read since the last barrier.
    if (next_depth < k) {
      T* const a_tile = a_tiles + (1 - half) * TILE * A_ROW;
      T* const b_tile = b_tiles + (1 - half) * DEPTH * TILE;
#pragma unroll
      for (int load = 0; load < LOADS; ++load) {
        const int element = thread + load * THREADS;
        a_tile[element / DEPTH * A_ROW + element % DEPTH] = a_next[load];
        b_tile[element] = b_next[load];
      }
      __syncthreads();
    }
  }

  // Store.
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int row = first_row + thread_y + i * THREADS_Y;
#pragma unroll
    for (int j = 0; j < COLS; ++j) {
      const int column = first_column + thread_x + j * THREADS_X;
      if (row < m && column < n) c[static_cast<long long>(row) * n + column] = sums[i][j];
    }
  }
}
