// Registers and spills: how many values a thread can hold.
//
//   out[i] = in[i] * (1 + PASSES)     i = 0 .. threads - 1, but for rounding
//
// Each thread adds in[i] to LIVE elements that began as in[i], PASSES times, and stores their mean.
// BLOCKS asks the compiler to leave room for so many blocks on a multiprocessor: the more, the
// fewer registers a thread may have, and what does not fit is spilled to local memory and read
// again in every pass.
//
// Template parameters
//   LIVE    values that are needed all the time    8 .. 128
//   BLOCKS  of 256 threads on a multiprocessor     1 .. 8
//   PASSES  of the problem                         1, 2, ...
//
// Block            256 threads
// Grid             threads / 256 blocks
// Shared memory    none

template <int LIVE, int BLOCKS, int PASSES>
__global__ void __launch_bounds__(256, BLOCKS)
    memory_spills(const float* __restrict__ in, float* __restrict__ out, int zero) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  const float step = in[i];
  float elements[LIVE];
#pragma unroll
  for (int j = 0; j < LIVE; ++j) elements[j] = step + static_cast<float>(zero * j);
#pragma unroll 1
  for (int pass = 0; pass < PASSES; ++pass) {
#pragma unroll
    for (int j = 0; j < LIVE; ++j) elements[j] += step;
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < LIVE; ++j) sum += elements[j];
  out[i] = sum / LIVE;
}
