// Softmax, RMS norm and layer norm of rows, each held in the registers of some threads of a block.
//
//   softmax_registers, rms_norm_registers, layer_norm_registers: as in normalize_naive.cu
//
// LANES threads read a row once, BYTES at a time and all of it before any of it is needed, and tell
// each other by shuffles, between warps through shared memory, what they have found.
//
// Template parameters
//   T       element type                  float, __half, __nv_bfloat16
//   BYTES   of an access                  8, 16
//   LANES   threads of a row              8 .. 1024, a power of two
//   ROWS    rows of a block               1 .. 32
//   ITEMS   accesses of a thread          ceil of what a row needs, which is BYTES - sizeof(T) more
//                                         than its elements where it is not WHOLE
//   WHOLE   1: n * sizeof(T) is a multiple of BYTES    0, 1
//   STREAM  1: as read_once.cuh and write_once.cuh     0, 1
//   PASSES  reductions (not of RMS norm)               1: of all numbers at once; 2: one by one
//
// Constraints      32 <= LANES * ROWS <= 1024; n < 2^31
// Block            LANES x ROWS threads
// Grid             ceil(m / ROWS) blocks
// Shared memory    with more than 32 LANES for each warp 8 bytes, 4 of RMS norm, 12 of layer norm
//                  with one pass, static
// Memory traffic   2 * m * n * sizeof(T) bytes

#include "team.cuh"

namespace normalize_detail {

template <typename T, int BYTES, int LANES, int ROWS, int ITEMS, int WHOLE, int STREAM, int PASSES,
          typename Operation>
__device__ __forceinline__ void normalize_registers(const T* in, T* out, long long m, long long n,
                                                    Operation operation) {
  static_assert(LANES * ROWS % 32 == 0 && LANES * ROWS <= 1024, "a block has whole warps");
  float* const shared = shared_floats<kBlockFloats<Operation, PASSES, LANES, ROWS>>();
  const int lane = static_cast<int>(threadIdx.x);
  const int group = static_cast<int>(threadIdx.y);
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + group;
  const long long begin = (row < m ? row : 0) * n;
  const int count = row < m ? static_cast<int>(n) : 0;
  HeldRow<T, BYTES, LANES, ITEMS, WHOLE> held(in + begin, count, lane, 0);
  held.template load<STREAM>(in + begin);
  TeamOfBlock<LANES, ROWS> team{shared, group, lane};
  learn<PASSES>(operation, held, team, static_cast<int>(n));
  held.template store<STREAM>(out + begin, operation);
}

}  // namespace normalize_detail

template <typename T, int BYTES, int LANES, int ROWS, int ITEMS, int WHOLE, int STREAM, int PASSES>
__global__ void __launch_bounds__(LANES* ROWS)
    softmax_registers(const T* __restrict__ in, T* __restrict__ out, long long m, long long n) {
  normalize_detail::normalize_registers<T, BYTES, LANES, ROWS, ITEMS, WHOLE, STREAM, PASSES>(
      in, out, m, n, normalize_detail::Softmax<T>{});
}

template <typename T, int BYTES, int LANES, int ROWS, int ITEMS, int WHOLE, int STREAM>
__global__ void __launch_bounds__(LANES* ROWS)
    rms_norm_registers(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                       long long m, long long n) {
  normalize_detail::normalize_registers<T, BYTES, LANES, ROWS, ITEMS, WHOLE, STREAM, 1>(
      in, out, m, n, normalize_detail::RmsNorm<T>{weight});
}

template <typename T, int BYTES, int LANES, int ROWS, int ITEMS, int WHOLE, int STREAM, int PASSES>
__global__ void __launch_bounds__(LANES* ROWS)
    layer_norm_registers(const T* __restrict__ in, T* __restrict__ out,
                         const T* __restrict__ weight, const T* __restrict__ bias, long long m,
                         long long n) {
  normalize_detail::normalize_registers<T, BYTES, LANES, ROWS, ITEMS, WHOLE, STREAM, PASSES>(
      in, out, m, n, normalize_detail::LayerNorm<T>{weight, bias});
}
