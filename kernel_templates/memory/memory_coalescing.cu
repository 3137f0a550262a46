// Coalescing: the lanes of a warp read words of global memory that lie STRIDE apart.
//
//   out[t] = t + (t + threads) + (t + 2 * threads) + ... of 8 terms     for every thread t
//
//   in:  words elements that count up from 0: in[i] == i, and 32 more; words is a power of two
//   out: one element per thread
//
// Caches hold sectors of 32 bytes, and the L2 cache reads two neighboring ones at a time from
// memory. A warp that reads neighboring words needs 4 sectors; one whose words lie 8 apart needs
// 32, of which it uses an eighth; with 16 words and more between them none needs its neighbor,
// which is read all the same. A thread reads 8 words, and what is subtracted from each is where it
// lies, so that every STRIDE and OFFSET has the same result. No word is read twice, or it would be
// found in a cache: where the walk comes to the end of in, it begins again 16 words later.
//
// Template parameters
//   STRIDE  between lanes, in words                  1 .. 32, a power of two
//   OFFSET  of the first word from a line's begin    0 .. 31
//
// Block            256 threads
// Grid             threads / 256 blocks
// Shared memory    none

template <int STRIDE, int OFFSET>
__global__ void __launch_bounds__(256)
    memory_coalescing(const int* __restrict__ in, int* __restrict__ out, long long words) {
  static_assert(STRIDE >= 1 && OFFSET >= 0 && OFFSET < 32, "in has 32 elements more");
  const long long thread = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  const long long threads = static_cast<long long>(gridDim.x) * 256;
  int sum = 0;
#pragma unroll
  for (int read = 0; read < 8; ++read) {
    const long long number = read * threads + thread;
    const long long step = number * STRIDE;
    const long long place = (step & (words - 1)) + (step & words ? 16 : 0) + OFFSET;
    sum += in[place] - static_cast<int>(place - number);
  }
  out[thread] = sum;
}
