// Transpose by blocks that stay, and copy their next tiles to shared memory while they turn one.
//
//   out[j][i] = in[i][j]
//
//   in: m x n, out: n x m, both row-major and dense, T elements
//
// A tile lies in shared memory as it does in `in`. Its copies are asynchronous (cp.async), of BYTES
// each, those of up to STAGES - 1 tiles at a time. A thread reads squares of V x V elements from
// there, V = BYTES / sizeof(T), transposes them in registers and writes their columns to `out`:
// neighboring threads have squares below each other, and write pieces beside each other. What lies
// in shared memory is swizzled, so that they find their squares in different banks.
//
// Template parameters
//   T        element type                     any of 1, 2, 4 or 8 bytes
//   BYTES    of an access                     4, 8, 16, at least sizeof(T)
//   ROWS     of a tile of in                  32, 64, 128, 256
//   COLUMNS  of a tile of in                  32, 64, 128, 256
//   THREADS  threads per block                64 .. 512
//   STAGES   tiles in shared memory           2, 3, 4
//
// Arguments        group: rows of tiles that blocks take together (tile_order.cuh)
// Constraints      V divides m and n; THREADS * V * V divides ROWS * COLUMNS
// Block            THREADS threads
// Grid             any number of blocks: as many as run at a time
// Shared memory    STAGES * ROWS * COLUMNS * sizeof(T) bytes, dynamic
// Memory traffic   2 * m * n * sizeof(T) bytes

#include "../common/async_copy.cuh"
#include "tile_order.cuh"
#include "vector_tile.cuh"

template <typename T, int BYTES, int ROWS, int COLUMNS, int THREADS, int STAGES>
__global__ void __launch_bounds__(THREADS)
    transpose_pipelined(const T* __restrict__ in, T* __restrict__ out, long long m, long long n,
                        int group) {
  constexpr int V = BYTES / static_cast<int>(sizeof(T));
  constexpr int DOWN = ROWS / V;
  constexpr int ACROSS = COLUMNS / V;
  constexpr int ITEMS = DOWN * ACROSS / THREADS;  // Squares of a thread.
  static_assert(V >= 1, "an access has an element or more");
  static_assert(ITEMS >= 1 && ITEMS * THREADS == DOWN * ACROSS, "all threads have as many squares");
  static_assert((ACROSS & (ACROSS - 1)) == 0, "a swizzle stays within a row of a power of two");
  using Square = transpose_detail::Square<sizeof(T), V>;
  using Piece = typename Square::Row;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto* const shared = reinterpret_cast<Piece*>(shared_bytes);
  const auto place = [](int row, int piece) {
    return row * ACROSS + (piece ^ (row / V & (ACROSS - 1)));
  };

  const int thread = static_cast<int>(threadIdx.x);
  const int down = static_cast<int>((m + ROWS - 1) / ROWS);
  const int across = static_cast<int>((n + COLUMNS - 1) / COLUMNS);
  const long long tiles = static_cast<long long>(down) * across;
  const auto start = [&](long long number, int stage) {
    if (number < tiles) {
      const auto tile =
          transpose_detail::tile_at(static_cast<unsigned>(number), down, across, group);
#pragma unroll 4
      for (int item = 0; item < ITEMS * V; ++item) {
        const int i = thread + item * THREADS;
        const long long row = tile.row * ROWS + i / ACROSS;
        const long long column = tile.column * COLUMNS + i % ACROSS * V;
        start_copy<BYTES>(shared + stage * (ROWS * ACROSS) + place(i / ACROSS, i % ACROSS),
                          in + row * n + column, row < m && column < n);
      }
    }
    close_copies();
  };

#pragma unroll
  for (int stage = 0; stage < STAGES - 1; ++stage) {
    start(blockIdx.x + static_cast<long long>(stage) * gridDim.x, stage);
  }
  int stage = 0;
  for (long long number = blockIdx.x; number < tiles; number += gridDim.x) {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    start(number + static_cast<long long>(STAGES - 1) * gridDim.x, (stage + STAGES - 1) % STAGES);
    const auto tile = transpose_detail::tile_at(static_cast<unsigned>(number), down, across, group);
#pragma unroll 1
    for (int item = 0; item < ITEMS; ++item) {
      const int i = thread + item * THREADS;
      Square square;
#pragma unroll
      for (int k = 0; k < V; ++k) {
        square.row[k] = shared[stage * (ROWS * ACROSS) + place(i % DOWN * V + k, i / DOWN)];
      }
      square.transpose();
      const long long row = tile.row * ROWS + i % DOWN * V;
      const long long column = tile.column * COLUMNS + i / DOWN * V;
      if (row >= m || column >= n) continue;
#pragma unroll
      for (int k = 0; k < V; ++k) {
        *reinterpret_cast<Piece*>(out + (column + k) * m + row) = square.row[k];
      }
    }
    stage = (stage + 1) % STAGES;
  }
}
