// Matrix product of half-precision numbers, one thread per element: what the others are held against.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k and C: m x n, row-major; B: k x n, row-major, or where TRANSPOSED stored as n x k;
//   A and B T elements, C OUT elements, fp32 sums
//
// Template parameters
//   T, OUT                  __half or __nv_bfloat16; the same or float
//   TRANSPOSED              0: B is k x n; 1: B is n x k
//   THREADS_X, THREADS_Y    threads per block
//
// Block            THREADS_X x THREADS_Y threads
// Grid             ceil(n / THREADS_X) x ceil(m / THREADS_Y) blocks
// Memory traffic   without caches, 2 * m * n * k elements read and m * n written

#include "../common/half_types.cuh"

template <typename T, typename OUT, int TRANSPOSED, int THREADS_X, int THREADS_Y,
          int THREADS = (THREADS_X * THREADS_Y)>
__global__ void __launch_bounds__(THREADS)
    gemm_tc_naive(const T* a, const T* b, OUT* c, int m, int n, int k) {
  const int column = blockIdx.x * THREADS_X + threadIdx.x;
  const int row = blockIdx.y * THREADS_Y + threadIdx.y;
  if (row >= m || column >= n) return;
  const long long b_begin = TRANSPOSED != 0 ? static_cast<long long>(column) * k : column;
  const int b_step = TRANSPOSED != 0 ? 1 : n;
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    sum += element(a, static_cast<long long>(row) * k + i) *
           element(b, b_begin + static_cast<long long>(i) * b_step);
  }
  set_element(c, static_cast<long long>(row) * n + column, sum);
}
