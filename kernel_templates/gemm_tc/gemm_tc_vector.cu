// Matrix product of 8-bit numbers, one thread per element that reads 16 of them at a time.
//
//   C[row][column] = scale * sum over i of A[row][i] * B[column][i]
//
//            column
//          +----|------+
//          | B  |      |       a thread walks along a row of A and along a row of what B is stored
//          |    v      |       as, 16 bytes in each step, and stores the one element of C where
//          +-----------+       they meet
//   +---+  +-----------+
//   |-->|  |    *      | row
//   | A |  | C         |
//   +---+  +-----------+
//
//   A: m x k, B: n x k and C: m x n, row-major; A and B T elements, C OUT elements, fp32 sums, int32
//   of integers; where OUT is int the sums are stored as they are. Rows whose length is no multiple
//   of 16 are read element by element.
//
// Template parameters
//   T, OUT                  __nv_fp8_e4m3; __half, __nv_bfloat16, float
//                           signed char; signed char (the nearest, at most 127), int
//   THREADS_X, THREADS_Y    threads per block
//
// Block            THREADS_X x THREADS_Y threads
// Grid             ceil(n / THREADS_X) x ceil(m / THREADS_Y) blocks
// Memory traffic   without caches, 2 * m * n * k bytes read and m * n elements written

#include "../common/element_types.cuh"

namespace gemm_tc_detail {

/// What one access reads.
template <typename T>
struct alignas(16) Vector {
  static constexpr int COUNT = 16 / static_cast<int>(sizeof(T));
  T elements[COUNT];
};

/// Returns the sum of the products of k elements, in ascending order.
template <typename T>
__device__ __forceinline__ auto dot_product(const T* a, const T* b, int k) {
  typename SumOf<T>::Type sum = 0;
  const int begin_of_rest = k % Vector<T>::COUNT == 0 ? k : 0;
  for (int i = 0; i < begin_of_rest; i += Vector<T>::COUNT) {
    const auto from_a = *reinterpret_cast<const Vector<T>*>(a + i);
    const auto from_b = *reinterpret_cast<const Vector<T>*>(b + i);
#pragma unroll
    for (int j = 0; j < Vector<T>::COUNT; ++j) {
      sum += element(from_a.elements, j) * element(from_b.elements, j);
    }
  }
  for (int i = begin_of_rest; i < k; ++i) sum += element(a, i) * element(b, i);
  return sum;
}

}  // namespace gemm_tc_detail

template <typename T, typename OUT, int THREADS_X, int THREADS_Y,
          int THREADS = (THREADS_X * THREADS_Y)>
__global__ void __launch_bounds__(THREADS)
    gemm_tc_vector(const T* a, const T* b, OUT* c, const float* scale, int m, int n, int k) {
  const int column = blockIdx.x * THREADS_X + threadIdx.x;
  const int row = blockIdx.y * THREADS_Y + threadIdx.y;
  if (row >= m || column >= n) return;
  const auto sum = gemm_tc_detail::dot_product(a + static_cast<long long>(row) * k,
                                               b + static_cast<long long>(column) * k, k);
  set_element(c, static_cast<long long>(row) * n + column, scaled<OUT>(sum, *scale));
}
