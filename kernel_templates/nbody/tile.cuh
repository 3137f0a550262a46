// The pull on the bodies of a block, found by its threads through tiles in shared memory.

#pragma once

#include "bodies.cuh"

namespace nbody_detail {

/// The work of a block: THREADS threads keep OWN bodies each, and do so SLICES times over, every
/// slice for other bodies of a tile. PIECES: bodies that each thread copies into a tile. BUFFERS:
/// tiles in shared memory. UNROLL: bodies of a tile that are taken at once.
template <typename T, int THREADS, int SLICES, int OWN, int PIECES, int UNROLL, int BUFFERS>
struct Block {
  static constexpr int kAll = THREADS * SLICES;
  static constexpr int kTile = kAll * PIECES;
  static constexpr int kSlice = kTile / SLICES;
  static_assert(THREADS % 32 == 0 && kAll <= 1024, "a block has whole warps");
  static_assert(BUFFERS == 1 || BUFFERS == 2, "one tile is used while another is copied");
  static_assert(BUFFERS * kTile * 4 * sizeof(T) <= 49152, "static shared memory ends at 48 KB");

  long long first;  // The thread's first body; the others follow THREADS apart.
  int slice;
  Body<T> own[OWN];
  Pull<T> pull[OWN];

  __device__ __forceinline__ Block(const T* __restrict__ bodies, long long n, long long block)
      : first(block * (THREADS * OWN) + threadIdx.x), slice(static_cast<int>(threadIdx.y)) {
#pragma unroll
    for (int o = 0; o < OWN; ++o) own[o] = body_or_none(bodies, first + o * THREADS, n);
  }

  /// Adds the pull of the bodies of tiles `tile`, `tile + step`, ... Slice 0 has all of it then.
  __device__ __forceinline__ void add(const T* __restrict__ bodies, long long n, T softening,
                                      long long tile, int step) {
    __shared__ Body<T> tiles[BUFFERS][kTile];
    const int thread = slice * THREADS + static_cast<int>(threadIdx.x);
    Body<T> next[PIECES];
    const auto read = [&](long long number) {
#pragma unroll
      for (int p = 0; p < PIECES; ++p) {
        next[p] = body_or_none(bodies, number * kTile + p * kAll + thread, n);
      }
    };
    read(tile);
    for (int buffer = 0; tile * kTile < n; tile += step, buffer = (buffer + 1) % BUFFERS) {
      if constexpr (BUFFERS == 1) __syncthreads();
#pragma unroll
      for (int p = 0; p < PIECES; ++p) tiles[buffer][p * kAll + thread] = next[p];
      __syncthreads();
      read(tile + step);
      const Body<T>* const others = tiles[buffer] + slice * kSlice;
#pragma unroll UNROLL
      for (int j = 0; j < kSlice; ++j) {
        const Body<T> other = others[j];
#pragma unroll
        for (int o = 0; o < OWN; ++o) pull[o].add(own[o], other, softening);
      }
    }
    if constexpr (SLICES > 1) {
      auto* const sums = tiles[0];
#pragma unroll
      for (int o = 0; o < OWN; ++o) {
        __syncthreads();
        if (slice > 0) {
          sums[thread - THREADS] = {pull[o].x, pull[o].y, pull[o].z, T(0)};
        }
        __syncthreads();
        if (slice == 0) {
#pragma unroll
          for (int s = 0; s < SLICES - 1; ++s) {
            const Body<T> sum = sums[s * THREADS + thread];
            pull[o].add({sum.x, sum.y, sum.z});
          }
        }
      }
    }
  }

  __device__ __forceinline__ void store(T* to, long long n, T factor) const {
    if (slice > 0) return;
#pragma unroll
    for (int o = 0; o < OWN; ++o) {
      const long long i = first + o * THREADS;
      if (i < n) pull[o].store(to, i, factor);
    }
  }
};

}  // namespace nbody_detail
