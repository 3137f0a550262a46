// Bank conflicts: the lanes of a warp read words of shared memory that lie STRIDE apart.
//
//   out[i] = REPEATS * (in[0] + in[1] + ... + in[127])     for every thread
//
//   in: 128 words;  out: one element per thread
//
// Shared memory has 32 banks of 4 bytes. Lane l reads word l * STRIDE, so gcd(STRIDE, 32) lanes
// meet in each bank that is used, and that many reads follow each other. Of 8 bytes a half-warp is
// read at a time. With STRIDE 0 all lanes read the same word, which is sent to all at once.
//
// Each lane reads the words of all lanes in turn, so that every STRIDE has the same result:
//
//   tile   4 tables of 32 elements, STRIDE elements apart
//
// Arguments        zero: 0, which the compiler does not know, so that it reads again
//
// Template parameters
//   BYTES    of an element                    4 or 8; of 8 the upper half is 0
//   STRIDE   between lanes, in elements       0 (all the same) .. 32
//   REPEATS  of the problem                   1, 2, ...
//
// Block            256 threads
// Grid             any number of blocks
// Shared memory    128 * max(STRIDE, 1) * BYTES bytes, static

template <int BYTES>
struct Element;
template <>
struct Element<4> {
  using Type = uint1;
  static __device__ __forceinline__ uint1 make(unsigned word) { return make_uint1(word); }
  static __device__ __forceinline__ unsigned sum(uint1 element) { return element.x; }
};
template <>
struct Element<8> {
  using Type = uint2;
  static __device__ __forceinline__ uint2 make(unsigned word) { return make_uint2(word, 0); }
  static __device__ __forceinline__ unsigned sum(uint2 element) { return element.x + element.y; }
};

template <int BYTES, int STRIDE, int REPEATS>
__global__ void __launch_bounds__(256)
    memory_stride(const unsigned* __restrict__ in, unsigned* __restrict__ out, int zero) {
  static_assert(STRIDE >= 0 && STRIDE <= 32, "banks repeat after 32 words");
  constexpr int THREADS = 256;
  constexpr int TABLES = 4;
  constexpr int APART = STRIDE == 0 ? 1 : STRIDE;
  using Word = Element<BYTES>;
  __shared__ typename Word::Type tile[TABLES * 32 * APART];

  const int thread = static_cast<int>(threadIdx.x);
  if (thread < TABLES * 32) tile[thread * APART] = Word::make(in[thread]);
  __syncthreads();

  const int lane = STRIDE == 0 ? 0 : thread % 32;
  unsigned sum = 0;
#pragma unroll 1
  for (int repeat = 0; repeat < REPEATS; ++repeat) {
    const int start = lane + zero * repeat;
#pragma unroll 8
    for (int turn = 0; turn < 32; ++turn) {
      const int slot = (start + turn) % 32 * APART;
#pragma unroll
      for (int table = 0; table < TABLES; ++table) {
        sum += Word::sum(tile[table * 32 * APART + slot]);
      }
    }
  }
  out[static_cast<int>(blockIdx.x) * THREADS + thread] = sum;
}
