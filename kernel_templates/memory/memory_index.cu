// Arrays of a thread: in registers, or in local memory because an index is known at run time only.
//
//   out[i] = in[i] * (1 + PASSES)     i = 0 .. threads - 1, but for rounding
//
// Each thread adds in[i] to 16 elements that began as in[i], PASSES times, and stores their mean.
// With INDEX by_run_time the elements are counted from `shift`, which is 0, but which the compiler
// does not know: registers have no addresses, so the array lies in local memory, where each
// addition takes a load and a store.
//
// Template parameters
//   INDEX   how elements are chosen   by_constant, by_run_time
//   PASSES  of the problem            1, 2, ...
//
// Block            256 threads
// Grid             threads / 256 blocks
// Shared memory    none

enum Index { by_constant, by_run_time };

template <Index INDEX, int PASSES>
__global__ void __launch_bounds__(256)
    memory_index(const float* __restrict__ in, float* __restrict__ out, int shift) {
  constexpr int SIZE = 16;
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  const float step = in[i];
  float elements[SIZE];
#pragma unroll
  for (int j = 0; j < SIZE; ++j) elements[j] = step + static_cast<float>(shift * j);
#pragma unroll 1
  for (int pass = 0; pass < PASSES; ++pass) {
#pragma unroll
    for (int j = 0; j < SIZE; ++j) {
      elements[INDEX == by_constant ? j : (j + shift + pass) % SIZE] += step;
    }
  }
  float sum = 0;
#pragma unroll
  for (int j = 0; j < SIZE; ++j) sum += elements[j];
  out[i] = sum / SIZE;
}
