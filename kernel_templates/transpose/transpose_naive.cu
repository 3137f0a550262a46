// Transpose without shared memory: the reference for the other transposes.
//
//   out[j][i] = in[i][j]
//
//   in: m x n, out: n x m, both row-major and dense, T elements
//
// Each thread copies one element. Neighboring threads read neighboring elements of a row of `in`,
// and write elements of `out` that are m elements apart.
//
// Template parameters
//   T          element type                           any of 1, 2, 4 or 8 bytes
//   THREADS_X  threads of a block along a row of in   8 .. 128
//   THREADS_Y  threads of a block along a column      1 .. 32
//
// Block            THREADS_X x THREADS_Y threads, at most 1024
// Grid             ceil(n / THREADS_X) * ceil(m / THREADS_Y) blocks
// Shared memory    none
// Memory traffic   2 * m * n * sizeof(T) bytes at least; a write touches a sector of 32 bytes, which
//                  the L2 cache keeps until its other elements are written

#include "../common/element_types.cuh"

template <typename T, int THREADS_X, int THREADS_Y>
__global__ void __launch_bounds__(THREADS_X* THREADS_Y)
    transpose_naive(const T* __restrict__ in, T* __restrict__ out, long long m, long long n) {
  static_assert(THREADS_X * THREADS_Y <= 1024, "a block has at most 1024 threads");
  const long long across = (n + THREADS_X - 1) / THREADS_X;  // Blocks.
  const long long row = blockIdx.x / across * THREADS_Y + threadIdx.y;
  const long long column = blockIdx.x % across * THREADS_X + threadIdx.x;
  if (row < m && column < n) out[column * m + row] = in[row * n + column];
}
