// Transpose whose threads read and write several elements at a time, and turn squares of them in
// their registers.
//
//   out[j][i] = in[i][j]
//
//   in: m x n, out: n x m, both row-major and dense, T elements
//
// V = BYTES / sizeof(T) elements are read at a time. A thread reads squares of V x V elements,
// transposes them in registers and stores their columns, V elements each, to shared memory, in
// which the tile lies transposed. From there rows of `out` are written, V elements at a time:
//
//   in    |aaaa|bbbb|          shared  |aeim|            out   |aeim|
//         |eeee|ffff|    ->            |aeim|       ->         |aeim|      V = 4, BYTES = 16, float
//         |iiii|jjjj|                  |aeim|                  |aeim|
//         |mmmm|nnnn|                  |aeim|                  |aeim|
//
// What lies in shared memory is swizzled (vector_tile.cuh), so that banks do not conflict.
//
// Template parameters
//   T        element type                     any of 1, 2, 4 or 8 bytes
//   BYTES    of an access                     sizeof(T) .. 16
//   ROWS     of a tile of in                  32, 64, 128, 256
//   COLUMNS  of a tile of in                  32, 64, 128, 256
//   THREADS  threads per block                64 .. 1024
//
// Arguments        group: rows of tiles that blocks take together (tile_order.cuh)
// Constraints      V divides m and n; THREADS * V * V divides ROWS * COLUMNS;
//                  shared memory <= 49152 bytes
// Block            THREADS threads
// Grid             ceil(n / COLUMNS) * ceil(m / ROWS) blocks
// Shared memory    ROWS * COLUMNS * sizeof(T) bytes, static
// Memory traffic   2 * m * n * sizeof(T) bytes

#include "tile_order.cuh"
#include "vector_tile.cuh"

template <typename T, int BYTES, int ROWS, int COLUMNS, int THREADS>
__global__ void __launch_bounds__(THREADS)
    transpose_vectors(const T* __restrict__ in, T* __restrict__ out, long long m, long long n,
                      int group) {
  using Tile = transpose_detail::VectorTile<T, BYTES, ROWS, COLUMNS, THREADS>;
  __shared__ typename Tile::Shared shared;
  const auto place =
      transpose_detail::tile_at(blockIdx.x, static_cast<int>((m + ROWS - 1) / ROWS),
                                static_cast<int>((n + COLUMNS - 1) / COLUMNS), group);
  const long long row = place.row * ROWS;
  const long long column = place.column * COLUMNS;
  typename Tile::Squares squares;
  Tile::load(squares, in, row, column, m, n);
  Tile::turn(squares, shared);
  __syncthreads();
  Tile::store(shared, out, row, column, m, n);
}
