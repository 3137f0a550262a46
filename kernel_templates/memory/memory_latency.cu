// Latency of each kind of memory: reads of which each needs the one before.
//
//   out[0] = in[0] + in[1] + ... + in[HOPS - 1]     in must count up from 0: in[i] == i
//
//   in:  HOPS * APART elements;  texels: the first HOPS again, as a texture;  out: 1 element
//
// One warp walks through HOPS places in the order of a walk with a long stride, and each element it
// reads says where to go next. What is added to the latency of the read is two dependent integer
// instructions and the address: `registers` has these alone. `global` reads elements APART from
// each other, so that none is in a cache; the others have their HOPS elements in the cache, or in
// shared memory, before the walk begins. `constant` walks through 256 elements again and again.
//
// Template parameters
//   PLACE  where the elements lie   registers, shared, l1, readonly, textures, l2, global, constant
//   HOPS   reads                    a power of two, 256 or more
//   APART  elements, see above      a power of two
//
// Block            32 threads, all of which walk the same way
// Grid             1 block
// Shared memory    HOPS * 4 bytes, static, with PLACE shared

#include "../common/opaque.cuh"
#include "place.cuh"

__constant__ int latency_table[256];

template <Place PLACE, int HOPS, int APART>
__global__ void __launch_bounds__(32)
    memory_latency(const int* in, cudaTextureObject_t texels, int* out) {
  static_assert(HOPS >= 256 && (HOPS & (HOPS - 1)) == 0, "the walk comes to every place once");
  static_assert(APART >= 1 && (APART & (APART - 1)) == 0, "places are told by a shift");
  constexpr int STRIDE = 1237;  // Odd, so that the walk comes to every place.
  const int thread = static_cast<int>(threadIdx.x);

  // Warm up. What is read is made use of at the end, or the compiler would leave it out.
  int warm = 0;
  int* tile = nullptr;
  if constexpr (PLACE == shared) {
    __shared__ int elements[HOPS];
#pragma unroll 16
    for (int i = thread; i < HOPS; i += 32) elements[i] = in[i];
    tile = elements;
  } else if constexpr (PLACE == l1 || PLACE == readonly || PLACE == textures || PLACE == l2) {
#pragma unroll 16
    for (int i = thread; i < HOPS; i += 32) {
      warm += PLACE == l1         ? __ldca(in + i)
              : PLACE == readonly ? __ldg(in + i)
              : PLACE == textures ? tex1Dfetch<int>(texels, i)
                                  : __ldcg(in + i);
    }
  } else if constexpr (PLACE == constant) {
    for (int i = 0; i < 256; ++i) warm += latency_table[(thread + i) & 255];
  }
  __syncthreads();

  int place = opaque(0);
  int sum = 0;
#pragma unroll 8
  for (int hop = 0; hop < HOPS; ++hop) {
    int element = place;
    if constexpr (PLACE == registers) {
      element = opaque(place);
    } else if constexpr (PLACE == shared) {
      element = tile[place];
    } else if constexpr (PLACE == l1) {
      element = __ldca(in + place);
    } else if constexpr (PLACE == readonly) {
      element = __ldg(in + place);
    } else if constexpr (PLACE == textures) {
      element = tex1Dfetch<int>(texels, place);
    } else if constexpr (PLACE == l2) {
      element = __ldcg(in + place);
    } else if constexpr (PLACE == global) {
      const int read = __ldcg(in + static_cast<long long>(place) * APART);
      element = static_cast<int>(static_cast<unsigned>(read) / APART);
    } else {
      element = latency_table[place & 255] + (place & ~255);
    }
    sum += element;
    place = (element + STRIDE) & (HOPS - 1);
  }
  if (thread == 0) out[0] = sum;
  if (warm == -1) out[0] = warm;  // Never: a sum of numbers that are not negative.
}
