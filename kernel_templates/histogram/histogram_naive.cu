// Histogram by atomic additions in global memory, as textbooks begin.
//
//   out[b] = how many elements x of in have x >> shift = b     0 <= b < bins
//
//   in: n elements of T; others than 0 .. bins * 2^shift - 1 are not counted
//   out: bins elements
//
// histogram_zero sets the bins to 0, and histogram_naive adds each element to its bin, in the L2 cache,
// for which all multiprocessors queue.
//
// Template parameters
//   T        element type          unsigned char, unsigned short, int
//   THREADS  threads per block     64 .. 1024
//
// Constraints      n < 2^32, so that no bin overflows
// Block            THREADS threads; of histogram_zero 256
// Grid             ceil(n / THREADS) blocks; of histogram_zero ceil(bins / 256)
// Memory traffic   n * sizeof(T) bytes read, n additions

#include "histogram_zero.cuh"

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    histogram_naive(const T* __restrict__ in, unsigned* out, long long n, int bins, int shift) {
  const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (i >= n) return;
  const auto bin = static_cast<unsigned>(in[i]) >> shift;
  if (bin < static_cast<unsigned>(bins)) atomicAdd(out + bin, 1u);
}
