// Bandwidth of each kind of memory: every multiprocessor reads all the time.
//
//   out[t] = the sum of the 16 words that thread t of every block reads, t = 0 .. 255
//
//   in:  blocks * 16 chunks of 16 KB, all alike: bytes that count up from 0, and again from 0
//   out: 256 elements
//
// A block reads a chunk PASSES times, 16 bytes per thread and read. `global` reads 16 chunks, each
// once; the others read one chunk again and again: from the L2 or L1 cache, by the read-only
// (texture) path, from a copy in shared memory, or from registers. What a pass has read must add up
// to what the first one has; a difference would show in the result.
//
// Arguments        zero: 0, which the compiler does not know, so that it reads again in every pass
//
// Template parameters
//   PLACE   where the chunk lies   registers, shared, l1, readonly, l2, global
//   PASSES  reads of a chunk       16 with global, any number else
//
// Block            256 threads
// Grid             any number of blocks; one for every 256 KB of in
// Shared memory    16384 bytes, static, with PLACE shared

#include "../common/opaque.cuh"
#include "place.cuh"

template <Place PLACE>
__device__ __forceinline__ uint4 read_from(const uint4* address) {
  if constexpr (PLACE == readonly) {
    return __ldg(address);
  } else if constexpr (PLACE == l2 || PLACE == global) {
    return __ldcg(address);
  } else {
    return *address;
  }
}

template <Place PLACE, int PASSES>
__global__ void __launch_bounds__(256)
    memory_bandwidth(const unsigned char* in, unsigned long long* out, int zero) {
  static_assert(PLACE != constant, "16 KB of each block's own are no constants");
  static_assert(PLACE != global || PASSES == 16, "a block has 16 chunks of its own");
  constexpr int THREADS = 256;
  constexpr int READS = 4;                // Per thread and pass.
  constexpr int CHUNK = READS * THREADS;  // Pieces of 16 bytes.
  const int thread = static_cast<int>(threadIdx.x);
  const uint4* const chunks =
      reinterpret_cast<const uint4*>(in) + static_cast<long long>(blockIdx.x) * 16 * CHUNK;

  uint4 first[READS];
  unsigned long long first_sum = 0;
#pragma unroll
  for (int read = 0; read < READS; ++read) {
    first[read] = __ldcg(chunks + read * THREADS + thread);
    first_sum += first[read].x;
    first_sum += first[read].y;
    first_sum += first[read].z;
    first_sum += first[read].w;
  }
  const uint4* from = chunks + thread;
  if constexpr (PLACE == shared) {
    __shared__ uint4 tile[CHUNK];
#pragma unroll
    for (int read = 0; read < READS; ++read) tile[read * THREADS + thread] = first[read];
    __syncthreads();
    from = tile + thread;
  }

  unsigned sum = 0;
#pragma unroll 4
  for (int pass = 0; pass < PASSES; ++pass) {
    const int offset = pass * (PLACE == global ? CHUNK : zero);
#pragma unroll
    for (int read = 0; read < READS; ++read) {
      uint4 piece;
      if constexpr (PLACE == registers) {
        piece.x = opaque(first[read].x);
        piece.y = opaque(first[read].y);
        piece.z = opaque(first[read].z);
        piece.w = opaque(first[read].w);
      } else {
        piece = read_from<PLACE>(from + offset + read * THREADS);
      }
      sum += piece.x;
      sum += piece.y;
      sum += piece.z;
      sum += piece.w;
    }
  }
  const unsigned difference = sum - static_cast<unsigned>(first_sum) * PASSES;
  if (blockIdx.x == 0 || difference != 0) out[thread] = first_sum + difference;
}
