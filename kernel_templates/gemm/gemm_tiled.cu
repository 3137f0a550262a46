// Matrix product through square tiles in shared memory.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x n, C: m x n, all row-major and dense, T elements; the sum is a T
//
// A block computes one TILE x TILE tile of C. It walks along k in steps of DEPTH: loads a
// TILE x DEPTH tile of A and a DEPTH x TILE tile of B, both coalesced, and adds their product. A
// thread holds ROWS x COLS elements of C in registers, so that each element it reads from shared
// memory is used ROWS or COLS times:
//
//   rows     threadIdx.y + i * TILE / ROWS,   i = 0 .. ROWS-1
//   columns  threadIdx.x + j * TILE / COLS,   j = 0 .. COLS-1
//
// so that neighboring threads read neighboring elements of B's tile. With ROWS = COLS = 1 and
// DEPTH = TILE it is the textbook's kernel. Tiles that hang over an edge are filled with zeros.
//
// Template parameters
//   T      element type                          float, double, int
//   TILE   edge of C's tile, in elements         8, 16, 32, 64, 128
//   DEPTH  elements of a step along k            8, 16, 32
//   ROWS   rows of C per thread                  1, 2, 4, 8
//   COLS   columns of C per thread               1, 2, 4, 8
//   PAD    unused elements after each row of     0 or 1; 1 removes the bank conflicts of threads
//          A's tile                              that read different rows
//
// Constraints      TILE % ROWS == 0,  TILE % COLS == 0
//                  (TILE / ROWS) * (TILE / COLS) <= 1024 threads,  48 KB of static shared memory
// Block            TILE / COLS x TILE / ROWS threads
// Grid             ceil(n / TILE) x ceil(m / TILE) blocks
// Shared memory    (TILE * (DEPTH + PAD) + DEPTH * TILE) * sizeof(T) bytes, static
// Memory traffic   (ceil(n / TILE) * m * k + ceil(m / TILE) * k * n + m * n) * sizeof(T) bytes
//                  asked of L2; (m * k + k * n + m * n) * sizeof(T) bytes of memory at least

template <typename T, int TILE, int DEPTH, int ROWS, int COLS, int PAD,
          int THREADS = ((TILE / ROWS) * (TILE / COLS))>
__global__ void __launch_bounds__(THREADS)
    gemm_tiled(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n,
               int k) {
  static_assert(TILE % ROWS == 0, "each thread must have a whole number of rows");
  static_assert(TILE % COLS == 0, "each thread must have a whole number of columns");
  static_assert(THREADS <= 1024, "a block has at most 1024 threads");
  static_assert((TILE * (DEPTH + PAD) + DEPTH * TILE) * sizeof(T) <= 49152,
                "static shared memory ends at 48 KB");
  constexpr int THREADS_X = TILE / COLS;
  constexpr int THREADS_Y = TILE / ROWS;
  __shared__ T a_tile[TILE][DEPTH + PAD];
  __shared__ T b_tile[DEPTH][TILE];

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

  for (int first_depth = 0; first_depth < k; first_depth += DEPTH) {
    // Load the tile of A.
#pragma unroll
    for (int element = thread; element < TILE * DEPTH; element += THREADS) {
      const int row = first_row + element / DEPTH;
      const int depth = first_depth + element % DEPTH;
      a_tile[element / DEPTH][element % DEPTH] =
          row < m && depth < k ? a[static_cast<long long>(row) * k + depth] : T(0);
    }
    // Load the tile of B.
#pragma unroll
    for (int element = thread; element < DEPTH * TILE; element += THREADS) {
      const int depth = first_depth + element / TILE;
      const int column = first_column + element % TILE;
      b_tile[element / TILE][element % TILE] =
          depth < k && column < n ? b[static_cast<long long>(depth) * n + column] : T(0);
    }
    __syncthreads();

    // Multiply the tiles.
#pragma unroll
    for (int depth = 0; depth < DEPTH; ++depth) {
      T a_elements[ROWS];
      T b_elements[COLS];
#pragma unroll
      for (int i = 0; i < ROWS; ++i) a_elements[i] = a_tile[thread_y + i * THREADS_Y][depth];
#pragma unroll
      for (int j = 0; j < COLS; ++j) b_elements[j] = b_tile[depth][thread_x + j * THREADS_X];
#pragma unroll
      for (int i = 0; i < ROWS; ++i) {
#pragma unroll
        for (int j = 0; j < COLS; ++j) sums[i][j] += a_elements[i] * b_elements[j];
      }
    }
    __syncthreads();
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
