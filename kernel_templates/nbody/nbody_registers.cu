// Gravity between all pairs of bodies, several bodies for each thread.
//
//   acceleration[i] = gravity * sum over j of  mass[j] * d / (|d|^2 + softening)^1.5,
//                     d = position[j] - position[i]
//
//   bodies: n of x, y, z and mass, T elements; acceleration: n of x, y and z
//
// A thread keeps OWN bodies in registers, so that one that it reads from global memory serves for
// OWN pairs.
//
// Template parameters
//   T        element type             float, double
//   THREADS  threads per block        32 .. 1024
//   OWN      bodies of a thread       1 .. 8
//   UNROLL   bodies read at once      1 .. 16
//
// Block            THREADS threads
// Grid             ceil(n / (THREADS * OWN)) blocks
// Shared memory    none
// Memory traffic   7 * n * sizeof(T) bytes at least; 4 * n * n / OWN elements are read, mostly from
//                  L1

#include "bodies.cuh"

template <typename T, int THREADS, int OWN, int UNROLL>
__global__ void __launch_bounds__(THREADS)
    nbody_registers(const T* __restrict__ bodies, T* __restrict__ acceleration, long long n,
                    T gravity, T softening) {
  using nbody_detail::Body;
  const long long first = static_cast<long long>(blockIdx.x) * (THREADS * OWN) + threadIdx.x;
  Body<T> own[OWN];
  nbody_detail::Pull<T> pull[OWN];
#pragma unroll
  for (int o = 0; o < OWN; ++o) {
    own[o] = nbody_detail::body_or_none(bodies, first + o * THREADS, n);
  }
  const auto* const body = reinterpret_cast<const Body<T>*>(bodies);
#pragma unroll UNROLL
  for (long long j = 0; j < n; ++j) {
    const Body<T> other = body[j];
#pragma unroll
    for (int o = 0; o < OWN; ++o) pull[o].add(own[o], other, softening);
  }
#pragma unroll
  for (int o = 0; o < OWN; ++o) {
    const long long i = first + o * THREADS;
    if (i < n) pull[o].store(acceleration, i, gravity);
  }
}
