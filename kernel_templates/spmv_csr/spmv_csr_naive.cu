// Product of a sparse matrix and a vector, one thread for each row: the reference of the others.
//
//   y[i] = sum over k from row[i] to row[i + 1] - 1 of  value[k] * x[column[k]]
//
//   row: m + 1 offsets; column, value: row[m] each, fewer than 2^31; x, y: m elements of T
//
// The threads of a warp read as far apart as their rows begin. Sums are added up in double
// precision: a long sum of floats takes no notice of small terms.
//
// Template parameters
//   T        element type             float, double
//   THREADS  threads per block        32 .. 1024
//
// Block            THREADS threads
// Grid             ceil(m / THREADS) blocks
// Shared memory    none
// Memory traffic   row[m] * (sizeof(T) + 4) + m * (2 * sizeof(T) + 4) bytes at least; how often the
//                  elements of x are read depends on the matrix

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    spmv_csr_naive(const int* __restrict__ row, const int* __restrict__ column,
                   const T* __restrict__ value, const T* __restrict__ x, T* __restrict__ y,
                   long long m) {
  const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (i >= m) return;
  double sum = 0;
  for (int k = row[i]; k < row[i + 1]; ++k) sum += static_cast<double>(value[k]) * x[column[k]];
  y[i] = static_cast<T>(sum);
}
