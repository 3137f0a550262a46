// Padding against bank conflicts: the lanes of a warp read a column of a tile in shared memory.
//
//   out[i] = REPEATS * (in[0] + in[1] + ... + in[127])     for every thread
//
//   in: 128 words;  out: one element per thread
//
// Rows have 32 + PAD words, so the words of a column lie 32 + PAD apart: without padding all in one
// bank, with one word of it each in another one.
//
//   tiles   4 tiles of 32 rows; all rows of a tile are alike: column c of tile t holds in[32 t + c]
//
// Arguments        zero: 0, which the compiler does not know, so that it reads again, and word by
//                  word
//
// Template parameters
//   PAD      words after each row   0 .. 16
//   REPEATS  of the problem         1, 2, ...
//
// Block            256 threads
// Grid             any number of blocks
// Shared memory    4 * 32 * (32 + PAD) * 4 bytes, static

template <int PAD, int REPEATS>
__global__ void __launch_bounds__(256)
    memory_padding(const unsigned* __restrict__ in, unsigned* __restrict__ out, int zero) {
  static_assert(PAD >= 0, "a row cannot be shorter than a warp is wide");
  constexpr int THREADS = 256;
  constexpr int TILES = 4;
  constexpr int ROW = 32 + PAD;
  static_assert(TILES * 32 * ROW * sizeof(unsigned) <= 49152, "static shared memory ends at 48 KB");
  __shared__ unsigned tiles[TILES * 32 * ROW];

  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < TILES * 32 * 32; i += THREADS) {
    tiles[i / 32 * ROW + i % 32] = in[i / (32 * 32) * 32 + i % 32];
  }
  __syncthreads();

  const int lane = thread % 32;
  unsigned sum = 0;
#pragma unroll 1
  for (int repeat = 0; repeat < REPEATS; ++repeat) {
    const int start = lane * ROW + zero * repeat;
#pragma unroll 8
    for (int column = 0; column < 32; ++column) {
#pragma unroll
      for (int tile = 0; tile < TILES; ++tile) sum += tiles[tile * 32 * ROW + start + column];
    }
  }
  out[static_cast<int>(blockIdx.x) * THREADS + thread] = sum;
}
