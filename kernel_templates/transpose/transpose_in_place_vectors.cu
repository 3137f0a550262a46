// Transpose of a square matrix in place, with the accesses of transpose_vectors.
//
//   matrix[j][i], matrix[i][j] = matrix[i][j], matrix[j][i]
//
//   matrix: n x n, row-major and dense, T elements
//
// A block reads a tile above the diagonal and the one that it changes places with, and writes both
// when it has read both. Tiles on the diagonal are a block's only ones. The blocks are numbered row
// by row, the rows of the triangle joined in pairs that have equally many tiles:
//
//   row 0   0 1 2 3 4      row 0 and 3   0 1 2 3 | 3        4 rows of tiles: pairs have 5
//   row 1     1 2 3   ->   row 1 and 2   1 2 3 | 3 2
//   row 2       2 3
//   row 3         3
//
// Template parameters
//   T        element type                any of 1, 2, 4 or 8 bytes
//   BYTES    of an access                sizeof(T) .. 16
//   TILE     rows and columns            16, 32, 64, 128
//   THREADS  threads per block           64 .. 1024
//
// Constraints      V = BYTES / sizeof(T) divides n; THREADS * V * V divides TILE * TILE
// Block            THREADS threads
// Grid             tiles * (tiles + 1) / 2 blocks, tiles = ceil(n / TILE)
// Shared memory    2 * TILE * TILE * sizeof(T) bytes, dynamic
// Memory traffic   2 * n * n * sizeof(T) bytes

#include "vector_tile.cuh"

template <typename T, int BYTES, int TILE, int THREADS>
__global__ void __launch_bounds__(THREADS) transpose_in_place_vectors(T* matrix, long long n) {
  using Tile = transpose_detail::VectorTile<T, BYTES, TILE, TILE, THREADS>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto* const shared = reinterpret_cast<typename Tile::Shared*>(shared_bytes);
  const int tiles = static_cast<int>((n + TILE - 1) / TILE);
  const int even = 1 - tiles % 2;
  const int pair = static_cast<int>(blockIdx.x) / (tiles + even);
  const int number = static_cast<int>(blockIdx.x) % (tiles + even);
  const bool is_upper = number >= pair + even;  // Of the two rows.
  const long long row = static_cast<long long>(is_upper ? pair : tiles - even - pair) * TILE;
  const long long column =
      static_cast<long long>(is_upper ? number - even : tiles - 1 - number) * TILE;

  typename Tile::Squares above;
  typename Tile::Squares below;
  Tile::load(above, matrix, row, column, n, n);
  if (row != column) Tile::load(below, matrix, column, row, n, n);
  Tile::turn(above, shared[0]);
  if (row != column) Tile::turn(below, shared[1]);
  __syncthreads();
  Tile::store(shared[0], matrix, row, column, n, n);
  if (row != column) Tile::store(shared[1], matrix, column, row, n, n);
}
