// Matrix product with rows of A and columns of B in shared memory.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x n, C: m x n, all row-major and dense, T elements; the sum is a T
//
// A block loads THREADS_Y whole rows of A and THREADS_X whole columns of B and waits for all of its
// warps; then each thread computes one element from shared memory alone:
//
//   shared   | THREADS_Y rows of k elements | k rows of THREADS_X elements |
//
// Rows and columns take more shared memory the longer they are, so that few fit, and with them few
// threads: what gemm_tiled avoids.
//
// Template parameters
//   T          element type                                float, double, int
//   THREADS_X  threads per block along n, columns of B     8, 16, 32
//   THREADS_Y  threads per block along m, rows of A        1 .. 16
//
// Constraints      THREADS_X * THREADS_Y <= 1024 threads
// Block            THREADS_X x THREADS_Y threads
// Grid             ceil(n / THREADS_X) x ceil(m / THREADS_Y) blocks
// Shared memory    (THREADS_X + THREADS_Y) * k * sizeof(T) bytes, dynamic
// Memory traffic   (ceil(n / THREADS_X) * m * k + ceil(m / THREADS_Y) * k * n + m * n) * sizeof(T)
//                  bytes asked of L2; (m * k + k * n + m * n) * sizeof(T) bytes of memory at least

template <typename T, int THREADS_X, int THREADS_Y, int THREADS = (THREADS_X * THREADS_Y)>
__global__ void __launch_bounds__(THREADS)
    gemm_row_column(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m,
                    int n, int k) {
  static_assert(THREADS >= 1 && THREADS <= 1024, "a block has 1 to 1024 threads");
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  T* const a_rows = reinterpret_cast<T*>(shared_bytes);
  T* const b_columns = a_rows + THREADS_Y * k;

  const int thread_x = static_cast<int>(threadIdx.x);
  const int thread_y = static_cast<int>(threadIdx.y);
  const int row = static_cast<int>(blockIdx.y) * THREADS_Y + thread_y;
  const int column = static_cast<int>(blockIdx.x) * THREADS_X + thread_x;
  if (row < m) {
#pragma unroll 16
    for (int i = thread_x; i < k; i += THREADS_X) {
      a_rows[thread_y * k + i] = a[static_cast<long long>(row) * k + i];
    }
  }
  if (column < n) {
#pragma unroll 16
    for (int i = thread_y; i < k; i += THREADS_Y) {
      b_columns[i * THREADS_X + thread_x] = b[static_cast<long long>(i) * n + column];
    }
  }
  __syncthreads();
  if (row >= m || column >= n) return;

  T sum = T(0);
#pragma unroll 16
  for (int i = 0; i < k; ++i) {
    sum += a_rows[thread_y * k + i] * b_columns[i * THREADS_X + thread_x];
  }
  c[static_cast<long long>(row) * n + column] = sum;
}
