// Gravity between all pairs of bodies, one thread for each body: the reference of the others.
//
//   acceleration[i] = gravity * sum over j of  mass[j] * d / (|d|^2 + softening)^1.5,
//                     d = position[j] - position[i]
//
//   bodies: n of x, y, z and mass, T elements; acceleration: n of x, y and z
//
// Every thread reads all bodies from global memory; the threads of a warp read the same one at a
// time.
//
// Template parameters
//   T        element type             float, double
//   THREADS  threads per block        32 .. 1024
//
// Block            THREADS threads
// Grid             ceil(n / THREADS) blocks
// Shared memory    none
// Memory traffic   7 * n * sizeof(T) bytes at least; 4 * n * n elements are read, mostly from L1

#include "bodies.cuh"

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS)
    nbody_naive(const T* __restrict__ bodies, T* __restrict__ acceleration, long long n, T gravity,
                T softening) {
  using nbody_detail::Body;
  const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  if (i >= n) return;
  const auto* const body = reinterpret_cast<const Body<T>*>(bodies);
  const Body<T> own = body[i];
  nbody_detail::Pull<T> pull;
  for (long long j = 0; j < n; ++j) pull.add(own, body[j], softening);
  pull.store(acceleration, i, gravity);
}
