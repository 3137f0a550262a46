// Constant memory: the lanes of a warp read one word, or several different ones.
//
//   out[i] = REPEATS * (table[0] + table[1] + ... + table[31])     for every thread
//
//   table: 32 words in constant memory;  out: one element per thread
//
// The constant cache sends one word to all lanes that ask for it at a time. Each lane reads all 32
// words; DISTINCT of them are asked for at the same time.
//
// Arguments        zero: 0, which the compiler does not know, so that it reads again
//
// Template parameters
//   DISTINCT  words that a warp reads at a time   1, 2, 4, 8, 16, 32
//   REPEATS   of the problem                      1, 2, ...
//
// Block            256 threads
// Grid             any number of blocks
// Shared memory    none

__constant__ unsigned constant_table[32];

template <int DISTINCT, int REPEATS>
__global__ void __launch_bounds__(256) memory_constant(unsigned* __restrict__ out, int zero) {
  static_assert(32 % DISTINCT == 0, "the words are read in whole groups");
  const int thread = static_cast<int>(threadIdx.x);
  unsigned sum = 0;
#pragma unroll 1
  for (int repeat = 0; repeat < REPEATS; ++repeat) {
    const int start = thread % DISTINCT;
#pragma unroll 8
    for (int turn = 0; turn < 32; ++turn) {
      sum += constant_table[turn / DISTINCT * DISTINCT + (start + turn) % DISTINCT + zero * repeat];
    }
  }
  out[static_cast<int>(blockIdx.x) * 256 + thread] = sum;
}
