// Two-dimensional stencil without shared memory: the reference for the other ones.
//
//   out[y][x] = sum over i, j from -RADIUS to RADIUS of w[i][j] * in[y + i][x + j]
//
//   in, out: m x n elements of T, row-major; what lies outside of in is 0
//   w:       (2 * RADIUS + 1) x (2 * RADIUS + 1) weights in constant memory (common/stencil.cuh);
//            of a star, BOX = 0, those where i or j is 0
//
// Each thread computes one element and reads all that belong to it; what neighbors share is left to
// the caches.
//
// Template parameters
//   T        element type                     float, double
//   RADIUS   of the problem                   1 .. 4
//   BOX      of the problem                   0: star, 1: box
//   THREADS_X, THREADS_Y  threads per block   64 .. 1024 in all
//
// Block            THREADS_X x THREADS_Y threads
// Grid             ceil(n / THREADS_X) * ceil(m / THREADS_Y) blocks
// Shared memory    none
// Memory traffic   2 * m * n * sizeof(T) bytes at least

#include "row_sums.cuh"

template <typename T, int RADIUS, int BOX, int THREADS_X, int THREADS_Y>
__global__ void __launch_bounds__(THREADS_X* THREADS_Y)
    stencil2d_naive(const T* __restrict__ in, T* __restrict__ out, long long m, long long n) {
  static_assert(RADIUS >= 1 && RADIUS <= 4, "there are weights for radius 1 to 4");
  constexpr int WIDTH = 2 * RADIUS + 1;
  const stencil_detail::BlockOfRows block(n, THREADS_X, THREADS_Y);
  const long long x = block.column + threadIdx.x;
  const long long y = block.row + threadIdx.y;
  if (x >= n || y >= m) return;

  T sum = T(0);
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) {
#pragma unroll
    for (int j = 0; j < WIDTH; ++j) {
      if (BOX == 0 && i != RADIUS && j != RADIUS) continue;
      const long long row = y + i - RADIUS;
      const long long column = x + j - RADIUS;
      if (row < 0 || row >= m || column < 0 || column >= n) continue;
      sum += stencil_detail::weight<T>(i * WIDTH + j) * in[row * n + column];
    }
  }
  out[y * n + x] = sum;
}
