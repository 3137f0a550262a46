// Gravity between all pairs of bodies, each sum by several blocks, in two launches.
//
//   acceleration[i] = gravity * sum over j of  mass[j] * d / (|d|^2 + softening)^1.5,
//                     d = position[j] - position[i]
//
//   bodies: n of x, y, z and mass, T elements; acceleration: n of x, y and z
//
// Blocks are those of nbody_tiled, but each takes every PARTS-th tile only: as many blocks as fill
// the device, however few bodies there are. A second launch adds up the parts, always in the same
// order.
//
// Template parameters
//   T, THREADS, SLICES, OWN, PIECES, UNROLL, BUFFERS   as nbody_tiled
//   PARTS    of a sum                                  2 .. 64
//
// Arguments        partial: PARTS * n of x, y and z, scratch
// Constraints      as nbody_tiled
// Block            THREADS x SLICES threads; 256 in the second launch
// Grid             ceil(n / (THREADS * OWN)) x PARTS blocks; ceil(3 * n / 256) in the second launch
// Shared memory    BUFFERS * THREADS * SLICES * PIECES bodies, static
// Memory traffic   (7 + 6 * PARTS) * n * sizeof(T) bytes

#include "tile.cuh"

template <typename T, int THREADS, int SLICES, int OWN, int PIECES, int UNROLL, int BUFFERS>
__global__ void __launch_bounds__(THREADS* SLICES)
    nbody_split(const T* __restrict__ bodies, T* __restrict__ partial, long long n, T softening) {
  nbody_detail::Block<T, THREADS, SLICES, OWN, PIECES, UNROLL, BUFFERS> block(bodies, n,
                                                                              blockIdx.x);
  block.add(bodies, n, softening, blockIdx.y, static_cast<int>(gridDim.y));
  block.store(partial + 3 * n * blockIdx.y, n, T(1));
}

template <typename T, int PARTS>
__global__ void __launch_bounds__(256)
    nbody_split_sums(const T* __restrict__ partial, T* __restrict__ acceleration, long long n,
                     T gravity) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= 3 * n) return;
  T sum = T(0);
#pragma unroll 8
  for (int part = 0; part < PARTS; ++part) sum += partial[3 * n * part + i];
  acceleration[i] = gravity * sum;
}
