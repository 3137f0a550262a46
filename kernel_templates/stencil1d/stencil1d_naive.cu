// One-dimensional stencil without shared memory: the reference for stencil1d_shared.
//
//   out[i] = in[i - RADIUS] + ... + in[i] + ... + in[i + RADIUS]     T elements
//
//   in, out: n + 2 * RADIUS elements: RADIUS ghost cells, n cells, RADIUS ghost cells; i is one of
//            the cells, and out's ghost cells keep their contents
//
// Each thread computes one element and reads its whole window; what neighbors share is left to the
// caches.
//
// Template parameters
//   T        element type              int, float, double
//   RADIUS   of the problem            0, 1, ...
//   THREADS  threads per block         64 .. 1024
//
// Block            THREADS threads
// Grid             ceil(n / THREADS) blocks
// Shared memory    none
// Memory traffic   (2 * n + 2 * RADIUS) * sizeof(T) bytes at least; (2 * RADIUS + 1) * n loads

template <typename T, int RADIUS, int THREADS>
__global__ void __launch_bounds__(THREADS)
    stencil1d_naive(const T* __restrict__ in, T* __restrict__ out, long long n) {
  static_assert(RADIUS >= 0, "a window cannot be empty");
  static_assert(THREADS >= 1 && THREADS <= 1024, "a block has 1 to 1024 threads");
  const long long cell = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (cell >= n) return;

  T sum = T(0);
#pragma unroll
  for (int offset = 0; offset <= 2 * RADIUS; ++offset) sum += in[cell + offset];
  out[cell + RADIUS] = sum;
}
