// Atomic additions in shared and in global memory: a histogram of 256 bins.
//
//   counts[b] += how often in holds b     b = 0 .. 255
//
//   in: n elements, 0 .. 255;  counts: 256 elements
//
// With PLACE global each element is added to its bin in global memory, that is, in the L2 cache,
// for which all multiprocessors queue. With PLACE shared each block counts in its own shared memory
// and adds its bins to the global ones at the end.
//
// Template parameters
//   PLACE  of the bins that are counted in   shared, global
//   ITEMS  elements per thread               1 .. 64
//
// Block            256 threads
// Grid             ceil(n / (256 * ITEMS)) blocks
// Shared memory    1024 bytes, static, with PLACE shared

#include "place.cuh"

template <Place PLACE, int ITEMS>
__global__ void __launch_bounds__(256)
    memory_histogram(const int* __restrict__ in, unsigned* counts, long long n) {
  static_assert(PLACE == shared || PLACE == global, "additions are atomic in these two");
  static_assert(ITEMS >= 1, "each thread must count at least one element");
  constexpr int BINS = 256;
  const int thread = static_cast<int>(threadIdx.x);
  unsigned* bins = counts;
  if constexpr (PLACE == shared) {
    __shared__ unsigned own[BINS];
    own[thread] = 0;
    bins = own;
    __syncthreads();
  }
  const long long first = static_cast<long long>(blockIdx.x) * BINS * ITEMS + thread;
#pragma unroll 8
  for (int item = 0; item < ITEMS; ++item) {
    const long long i = first + item * BINS;
    if (i < n) atomicAdd(&bins[in[i]], 1u);
  }
  if constexpr (PLACE == shared) {
    __syncthreads();
    if (bins[thread] != 0) atomicAdd(&counts[thread], bins[thread]);
  }
}
