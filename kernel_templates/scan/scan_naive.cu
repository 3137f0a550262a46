// Prefix sums in three launches, as textbooks begin.
//
//   out[i] = in[0] + ... + in[i]; with EXCLUSIVE without in[i]
//
//   in, out: n elements
//
// scan_naive: each block scans THREADS elements in shared memory, by Hillis and Steele's steps, and
// writes their sum. scan_naive_sums: one block turns these sums into those of all blocks before.
// scan_naive_add: each block adds what is before it.
//
// Template parameters
//   T          element type          int, float, long long, double
//   EXCLUSIVE  0, 1
//   THREADS    threads per block     64 .. 1024, a power of two
//
// Block            THREADS threads; of scan_naive_sums 1024
// Grid             ceil(n / THREADS) blocks; of scan_naive_sums 1
// Shared memory    2 * THREADS * sizeof(T) bytes, static; of scan_naive_sums 2048 * sizeof(T)
// Memory traffic   4 * n * sizeof(T) bytes, and the sums

namespace scan_detail {

/// The sum of the values of this thread and all before it in the block. `values` has room for two of
/// each thread.
template <int THREADS, typename T>
__device__ T scanned_in_block(T (*values)[THREADS], T value) {
  const int thread = static_cast<int>(threadIdx.x);
  int from = 0;
  values[from][thread] = value;
  __syncthreads();
  for (int distance = 1; distance < THREADS; distance *= 2) {
    value = values[from][thread];
    if (thread >= distance) value = values[from][thread - distance] + value;
    from = 1 - from;
    values[from][thread] = value;
    __syncthreads();
  }
  return value;
}

}  // namespace scan_detail

template <typename T, int EXCLUSIVE, int THREADS>
__global__ void __launch_bounds__(THREADS) scan_naive(const T* __restrict__ in, T* __restrict__ out,
                                                      T* __restrict__ block_sum, long long n) {
  __shared__ T values[2][THREADS];
  const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  const T sum = scan_detail::scanned_in_block<THREADS>(values, i < n ? in[i] : T(0));
  if constexpr (EXCLUSIVE != 0) {
    __syncthreads();
    values[0][threadIdx.x] = sum;
    __syncthreads();
    if (i < n) out[i] = threadIdx.x == 0 ? T(0) : values[0][threadIdx.x - 1];
  } else {
    if (i < n) out[i] = sum;
  }
  if (threadIdx.x == THREADS - 1) block_sum[blockIdx.x] = sum;
}

template <typename T>
__global__ void __launch_bounds__(1024) scan_naive_sums(T* block_sum, long long blocks) {
  constexpr int THREADS = 1024;
  __shared__ T values[2][THREADS];
  T before = T(0);
  for (long long first = 0; first < blocks; first += THREADS) {
    const long long i = first + threadIdx.x;
    const T own = i < blocks ? block_sum[i] : T(0);
    const T sum = scan_detail::scanned_in_block<THREADS>(values, own);
    __syncthreads();
    values[0][threadIdx.x] = sum;
    __syncthreads();
    if (i < blocks) {
      block_sum[i] = threadIdx.x == 0 ? before : before + values[0][threadIdx.x - 1];
    }
    before += values[0][THREADS - 1];
    __syncthreads();
  }
}

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    scan_naive_add(T* __restrict__ out, const T* __restrict__ block_sum, long long n) {
  const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (i < n) out[i] = block_sum[blockIdx.x] + out[i];
}
