// Matrix product without shared memory: the reference for the other gemm kernels.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x n, C: m x n, all row-major and dense, T elements; the sum is a T
//
// Each thread computes one element of C. Threads of a row of the block read the same element of A
// and neighboring elements of B, so what repeats is left to the caches.
//
// Template parameters
//   T          element type                       float, double, int
//   THREADS_X  threads per block along n          8 .. 64
//   THREADS_Y  threads per block along m          1 .. 32
//
// Constraints      THREADS_X * THREADS_Y <= 1024 threads
// Block            THREADS_X x THREADS_Y threads
// Grid             ceil(n / THREADS_X) x ceil(m / THREADS_Y) blocks
// Shared memory    none
// Memory traffic   (m * k + k * n + m * n) * sizeof(T) bytes at least; 2 * m * n * k loads in all

template <typename T, int THREADS_X, int THREADS_Y, int THREADS = (THREADS_X * THREADS_Y)>
__global__ void __launch_bounds__(THREADS)
    gemm_naive(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n,
               int k) {
  static_assert(THREADS >= 1 && THREADS <= 1024, "a block has 1 to 1024 threads");
  const int row = static_cast<int>(blockIdx.y) * THREADS_Y + static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * THREADS_X + static_cast<int>(threadIdx.x);
  if (row >= m || column >= n) return;

  const T* a_element = a + static_cast<long long>(row) * k;
  const T* b_element = b + column;
  T sum = T(0);
  for (int i = 0; i < k; ++i) {
    sum += *a_element * *b_element;
    ++a_element;
    b_element += n;
  }
  c[static_cast<long long>(row) * n + column] = sum;
}
