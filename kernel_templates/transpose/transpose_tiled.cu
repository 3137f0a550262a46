// Transpose through a tile in shared memory, so that reads and writes are both coalesced.
//
//   out[j][i] = in[i][j]
//
//   in: m x n, out: n x m, both row-major and dense, T elements
//
// A block reads the rows of its TILE x TILE tile of `in`, and writes the tile's columns, which are
// rows of `out`. A warp that reads a column of a tile whose rows have 32 banks would find all of it
// in one bank. LAYOUT says what is done about that:
//   plain     nothing
//   padded    a row has one element more than the tile
//   swizzled  element j of row i lies at j ^ i
//
// Template parameters
//   T       element type              any of 1, 2, 4 or 8 bytes
//   TILE    rows and columns          16, 32, 64
//   ROWS    elements of a thread      1, 2, 4, 8, 16; TILE / ROWS rows are read at a time
//   LAYOUT  see above                 plain, padded, swizzled
//
// Constraints      64 <= TILE * TILE / ROWS <= 1024, shared memory <= 49152 bytes
// Block            TILE x (TILE / ROWS) threads
// Grid             ceil(n / TILE) * ceil(m / TILE) blocks
// Shared memory    TILE * (TILE + (LAYOUT == padded)) * sizeof(T) bytes, static
// Memory traffic   2 * m * n * sizeof(T) bytes

#include "../common/element_types.cuh"

enum Layout { plain, padded, swizzled };

template <typename T, int TILE, int ROWS, Layout LAYOUT>
__global__ void __launch_bounds__(TILE* TILE / ROWS)
    transpose_tiled(const T* __restrict__ in, T* __restrict__ out, long long m, long long n) {
  static_assert(TILE % ROWS == 0, "a thread has a whole number of elements");
  static_assert(TILE * TILE / ROWS <= 1024, "a block has at most 1024 threads");
  static_assert((TILE & (TILE - 1)) == 0, "a swizzle stays within a row of a power of two");
  constexpr int STEP = TILE / ROWS;
  __shared__ T tile[TILE][TILE + (LAYOUT == padded)];
  const auto place = [](int row, int column) { return LAYOUT == swizzled ? column ^ row : column; };

  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const long long across = (n + TILE - 1) / TILE;
  const long long first_row = blockIdx.x / across * TILE;
  const long long first_column = blockIdx.x % across * TILE;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int row = y + i * STEP;
    if (first_row + row < m && first_column + x < n) {
      tile[row][place(row, x)] = in[(first_row + row) * n + first_column + x];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const int column = y + i * STEP;
    if (first_row + x < m && first_column + column < n) {
      out[(first_column + column) * m + first_row + x] = tile[x][place(x, column)];
    }
  }
}
