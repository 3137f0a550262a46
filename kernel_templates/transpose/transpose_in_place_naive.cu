// Transpose of a square matrix in place, without shared memory: the reference for
// transpose_in_place_vectors.
//
//   matrix[j][i], matrix[i][j] = matrix[i][j], matrix[j][i]
//
//   matrix: n x n, row-major and dense, T elements
//
// Each thread exchanges one element above the diagonal with the one below it.
//
// Template parameters
//   T          element type                           any of 1, 2, 4 or 8 bytes
//   THREADS_X  threads of a block along a row         8 .. 128
//   THREADS_Y  threads of a block along a column      1 .. 32
//
// Block            THREADS_X x THREADS_Y threads, at most 1024
// Grid             ceil(n / THREADS_X) * ceil(n / THREADS_Y) blocks
// Shared memory    none
// Memory traffic   2 * n * (n - 1) * sizeof(T) bytes at least

#include "../common/element_types.cuh"

template <typename T, int THREADS_X, int THREADS_Y>
__global__ void __launch_bounds__(THREADS_X* THREADS_Y)
    transpose_in_place_naive(T* matrix, long long n) {
  static_assert(THREADS_X * THREADS_Y <= 1024, "a block has at most 1024 threads");
  const long long across = (n + THREADS_X - 1) / THREADS_X;  // Blocks.
  const long long row = blockIdx.x / across * THREADS_Y + threadIdx.y;
  const long long column = blockIdx.x % across * THREADS_X + threadIdx.x;
  if (row >= column || column >= n) return;
  const T above = matrix[row * n + column];
  matrix[row * n + column] = matrix[column * n + row];
  matrix[column * n + row] = above;
}
