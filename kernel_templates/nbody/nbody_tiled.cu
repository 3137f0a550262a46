// Gravity between all pairs of bodies, tile by tile through shared memory.
//
//   acceleration[i] = gravity * sum over j of  mass[j] * d / (|d|^2 + softening)^1.5,
//                     d = position[j] - position[i]
//
//   bodies: n of x, y, z and mass, T elements; acceleration: n of x, y and z
//
// A block computes THREADS * OWN bodies and reads all bodies once, in tiles. Every slice of its
// threads takes another part of each tile, and the slices' sums are added up at the end:
//
//   tile      | slice 0 | slice 1 | ...    THREADS * PIECES bodies each
//   thread    x: which bodies it computes, y: its slice
//
// The next tile is read into registers while the block computes; with BUFFERS = 2 it is stored
// without waiting for all threads to be done with the one before it.
//
// Template parameters
//   T        element type                       float, double
//   THREADS  threads of a slice                 32 .. 1024, whole warps
//   SLICES   of the threads                     1, 2, 4, 8
//   OWN      bodies of a thread                 1 .. 8
//   PIECES   of a tile, copied by a thread      1, 2, 4
//   UNROLL   bodies of a tile taken at once     4 .. 32
//   BUFFERS  tiles in shared memory             1, 2
//
// Constraints      THREADS * SLICES <= 1024, shared memory <= 49152 bytes
// Block            THREADS x SLICES threads
// Grid             ceil(n / (THREADS * OWN)) blocks
// Shared memory    BUFFERS * THREADS * SLICES * PIECES bodies, static
// Memory traffic   7 * n * sizeof(T) bytes at least; every block reads 4 * n elements from L2

#include "tile.cuh"

template <typename T, int THREADS, int SLICES, int OWN, int PIECES, int UNROLL, int BUFFERS>
__global__ void __launch_bounds__(THREADS* SLICES)
    nbody_tiled(const T* __restrict__ bodies, T* __restrict__ acceleration, long long n, T gravity,
                T softening) {
  nbody_detail::Block<T, THREADS, SLICES, OWN, PIECES, UNROLL, BUFFERS> block(bodies, n,
                                                                              blockIdx.x);
  block.add(bodies, n, softening, 0, 1);
  block.store(acceleration, n, gravity);
}
