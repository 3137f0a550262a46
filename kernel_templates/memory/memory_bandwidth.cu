// Bandwidth of each kind of memory: every multiprocessor reads all the time.
//
//   out[t] = the sum of the 16 words that thread t of every block reads, t = 0 .. 255
//
//   in:     blocks * 16 chunks of 16 KB: words that count up from 0
//   texels: the first `blocks` chunks again, as a texture of 16 bytes a texel
//   table:  1 KB in constant memory: words that count up from 0
//   out:    256 elements
//
// A block reads a chunk PASSES times, 16 bytes per thread and read. `global` reads 16 chunks, each
// once; the others read one chunk again and again: from the L2 or L1 cache, by the read-only path,
// from a texture, from a copy in shared memory, or from registers. From constant memory each warp
// reads 16 bytes at a time that all of its lanes get. What was read must add up to what follows
// from the first pass; a difference would show in the result.
//
// Arguments        zero: 0, which the compiler does not know, so that it reads again in every pass
//
// Template parameters
//   PLACE   where the chunk lies   registers, shared, l1, readonly, textures, l2, global, constant
//   PASSES  reads of a chunk       16 with global, a multiple of 16 else
//
// Block            256 threads
// Grid             any number of blocks; one for every 256 KB of in and 16 KB of texels
// Shared memory    16384 bytes, static, with PLACE shared

#include "../common/opaque.cuh"
#include "place.cuh"

constexpr int TABLE = 64;  // Pieces of 16 bytes.
__constant__ uint4 bandwidth_table[TABLE];

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
__global__ void __launch_bounds__(256, 8)
    memory_bandwidth(const unsigned* in, cudaTextureObject_t texels, unsigned long long* out,
                     int zero) {
  static_assert(PLACE != global || PASSES == 16, "a block has 16 chunks of its own");
  static_assert(PASSES % 16 == 0, "the table is read a whole number of times");
  constexpr int THREADS = 256;
  constexpr int READS = 4;                // Per thread and pass.
  constexpr int CHUNK = READS * THREADS;  // Pieces of 16 bytes.
  const int thread = static_cast<int>(threadIdx.x);
  const int chunk = static_cast<int>(blockIdx.x) * CHUNK * (PLACE == global ? 16 : 1);
  const uint4* const chunks = reinterpret_cast<const uint4*>(in) + chunk;

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
#pragma unroll 2
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
      } else if constexpr (PLACE == textures) {
        piece = tex1Dfetch<uint4>(texels, chunk + offset + read * THREADS + thread);
      } else if constexpr (PLACE == constant) {
        piece = bandwidth_table[pass * READS % TABLE + offset + read];
      } else {
        piece = read_from<PLACE>(from + offset + read * THREADS);
      }
      sum += piece.x;
      sum += piece.y;
      sum += piece.z;
      sum += piece.w;
    }
  }
  unsigned expected = static_cast<unsigned>(first_sum) * PASSES;
  if constexpr (PLACE == constant) {
    expected = PASSES * READS / TABLE * (4 * TABLE * (4 * TABLE - 1) / 2);
  } else if constexpr (PLACE == global) {
    // Each of the 4 * READS words is 4 * CHUNK more than in the chunk before.
    expected += 4 * READS * 4 * CHUNK * (PASSES * (PASSES - 1) / 2);
  }
  const unsigned difference = sum - expected;
  if (blockIdx.x == 0 || difference != 0) out[thread] = first_sum + difference;
}
