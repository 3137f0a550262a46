// Matrix product with rows of A in shared memory.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x n, C: m x n, all row-major and dense, T elements; the sum is a T
//
// A block loads THREADS_Y whole rows of A, coalesced, and waits for all of its warps; then each
// thread computes one element, with A from shared memory and B from global memory. So an element of
// A is loaded once per block, but one of B once per thread, and the rows take more shared memory
// the longer they are.
//
// Template parameters
//   T          element type                       float, double, int
//   THREADS_X  threads per block along n          32 .. 256
//   THREADS_Y  threads per block along m, rows    1 .. 8
//
// Constraints      THREADS_X * THREADS_Y <= 1024 threads
// Block            THREADS_X x THREADS_Y threads
// Grid             ceil(n / THREADS_X) x ceil(m / THREADS_Y) blocks
// Shared memory    THREADS_Y * k * sizeof(T) bytes, dynamic
// Memory traffic   (ceil(n / THREADS_X) * m * k + m * n * k + m * n) * sizeof(T) bytes asked of the
//                  caches; (m * k + k * n + m * n) * sizeof(T) bytes of memory at least

template <typename T, int THREADS_X, int THREADS_Y, int THREADS = (THREADS_X * THREADS_Y)>
__global__ void __launch_bounds__(THREADS)
    gemm_row(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n,
             int k) {
  static_assert(THREADS >= 1 && THREADS <= 1024, "a block has 1 to 1024 threads");
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  T* const a_rows = reinterpret_cast<T*>(shared_bytes);

  const int row = static_cast<int>(blockIdx.y) * THREADS_Y + static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * THREADS_X + static_cast<int>(threadIdx.x);
  T* const a_row = a_rows + static_cast<int>(threadIdx.y) * k;
  if (row < m) {
#pragma unroll 8
    for (int i = static_cast<int>(threadIdx.x); i < k; i += THREADS_X) {
      a_row[i] = a[static_cast<long long>(row) * k + i];
    }
  }
  __syncthreads();
  if (row >= m || column >= n) return;

  const T* b_element = b + column;
  T sum = T(0);
#pragma unroll 8
  for (int i = 0; i < k; ++i) {
    sum += a_row[i] * *b_element;
    b_element += n;
  }
  c[static_cast<long long>(row) * n + column] = sum;
}
