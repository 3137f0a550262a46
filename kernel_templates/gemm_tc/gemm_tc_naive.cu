// Matrix product of small numbers, one thread per element: what the others are held against.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]          gemm_tc_naive
//   C[row][column] = scale * sum over i of A[row][i] * B[i][column]  gemm_tc_naive_scaled
//
//            column
//          +----|------+
//          | B  |      |       a thread walks along a row of A and down a column of B,
//          |    v      |       and stores the one element of C where they meet
//          +-----------+
//   +---+  +-----------+
//   |-->|  |    *      | row
//   | A |  | C         |
//   +---+  +-----------+
//
//   A: m x k and C: m x n, row-major; B: k x n, row-major, or where TRANSPOSED stored as n x k;
//   A and B T elements, C OUT elements, fp32 sums, int32 of integers; where OUT is int the sums are
//   stored as they are
//
// Template parameters
//   T, OUT                  __half or __nv_bfloat16; the same or float
//                           scaled: __nv_fp8_e4m3; __half, __nv_bfloat16, float
//                                   signed char; signed char (the nearest, at most 127), int
//   TRANSPOSED              0: B is k x n; 1: B is n x k, always where scaled
//   THREADS_X, THREADS_Y    threads per block
//
// Block            THREADS_X x THREADS_Y threads
// Grid             ceil(n / THREADS_X) x ceil(m / THREADS_Y) blocks
// Memory traffic   without caches, 2 * m * n * k elements read and m * n written

#include "../common/element_types.cuh"

namespace gemm_tc_detail {

/// The sum of element (row, column) of C.
template <typename T, int TRANSPOSED>
__device__ __forceinline__ auto sum_at(const T* a, const T* b, int row, int column, int n, int k) {
  const long long b_begin = TRANSPOSED != 0 ? static_cast<long long>(column) * k : column;
  const int b_step = TRANSPOSED != 0 ? 1 : n;
  typename SumOf<T>::Type sum = 0;
  for (int i = 0; i < k; ++i) {
    sum += element(a, static_cast<long long>(row) * k + i) *
           element(b, b_begin + static_cast<long long>(i) * b_step);
  }
  return sum;
}

}  // namespace gemm_tc_detail

template <typename T, typename OUT, int TRANSPOSED, int THREADS_X, int THREADS_Y,
          int THREADS = (THREADS_X * THREADS_Y)>
__global__ void __launch_bounds__(THREADS)
    gemm_tc_naive(const T* a, const T* b, OUT* c, int m, int n, int k) {
  const int column = blockIdx.x * THREADS_X + threadIdx.x;
  const int row = blockIdx.y * THREADS_Y + threadIdx.y;
  if (row >= m || column >= n) return;
  set_element(c, static_cast<long long>(row) * n + column,
              gemm_tc_detail::sum_at<T, TRANSPOSED>(a, b, row, column, n, k));
}

template <typename T, typename OUT, int THREADS_X, int THREADS_Y,
          int THREADS = (THREADS_X * THREADS_Y)>
__global__ void __launch_bounds__(THREADS)
    gemm_tc_naive_scaled(const T* a, const T* b, OUT* c, const float* scale, int m, int n, int k) {
  const int column = blockIdx.x * THREADS_X + threadIdx.x;
  const int row = blockIdx.y * THREADS_Y + threadIdx.y;
  if (row >= m || column >= n) return;
  const auto sum = gemm_tc_detail::sum_at<T, 1>(a, b, row, column, n, k);
  set_element(c, static_cast<long long>(row) * n + column, scaled<OUT>(sum, *scale));
}
