// Softmax, RMS norm and layer norm of rows that are read twice: rows of any length, on any GPU.
//
//   softmax_twice, rms_norm_twice, layer_norm_twice: as in normalize_naive.cu
//
// A block reads its row once to find all numbers that are needed of it, ITEMS accesses of each
// thread at a time, and again to write it; the L2 cache may still have it then.
//
// Template parameters
//   T, BYTES, WHOLE, STREAM    as in normalize_registers.cu, STREAM of the second read
//   THREADS  threads per block        64 .. 1024, a power of two
//   ITEMS    accesses in flight       1, 2, 4
//
// Constraints      n < 2^31 - THREADS * ITEMS * BYTES
// Block            THREADS threads
// Grid             m blocks
// Shared memory    for each warp 8 bytes, 4 of RMS norm, 12 of layer norm, static
// Memory traffic   2 * m * n * sizeof(T) bytes, and as much again read, from the L2 cache at best

#include "team.cuh"

namespace normalize_detail {

template <typename T, int BYTES, int THREADS, int ITEMS, int WHOLE, int STREAM, typename Operation>
__device__ __forceinline__ void normalize_twice(const T* in, T* out, long long n,
                                                Operation operation) {
  float* const shared = shared_floats<kBlockFloats<Operation, 1, THREADS, 1>>();
  const int thread = static_cast<int>(threadIdx.x);
  const int count = static_cast<int>(n);
  const T* const row = in + blockIdx.x * n;
  constexpr int PIECES = THREADS * ITEMS;
  const int pieces = (count - 1) / Piece<T, BYTES>::kElements + 1 + (WHOLE != 0 ? 0 : 1);

  auto numbers = Operation::none();
  for (int begin = 0; begin < pieces; begin += PIECES) {
    HeldRow<T, BYTES, THREADS, ITEMS, WHOLE, true> held(row, count, thread, begin);
    held.template load<0>(row);
    numbers = Operation::both(numbers, Operation::gathered(held));
  }
  TeamOfBlock<THREADS, 1> team{shared, 0, thread};
  operation.know(team.template reduced<Operation, 0>(numbers), count);
  for (int begin = 0; begin < pieces; begin += PIECES) {
    HeldRow<T, BYTES, THREADS, ITEMS, WHOLE, true> held(row, count, thread, begin);
    held.template load<STREAM>(row);
    held.template store<STREAM>(out + blockIdx.x * n, operation);
  }
}

}  // namespace normalize_detail

template <typename T, int BYTES, int THREADS, int ITEMS, int WHOLE, int STREAM>
__global__ void __launch_bounds__(THREADS)
    softmax_twice(const T* __restrict__ in, T* __restrict__ out, long long n) {
  normalize_detail::normalize_twice<T, BYTES, THREADS, ITEMS, WHOLE, STREAM>(
      in, out, n, normalize_detail::Softmax<T>{});
}

template <typename T, int BYTES, int THREADS, int ITEMS, int WHOLE, int STREAM>
__global__ void __launch_bounds__(THREADS)
    rms_norm_twice(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                   long long n) {
  normalize_detail::normalize_twice<T, BYTES, THREADS, ITEMS, WHOLE, STREAM>(
      in, out, n, normalize_detail::RmsNorm<T>{weight});
}

template <typename T, int BYTES, int THREADS, int ITEMS, int WHOLE, int STREAM>
__global__ void __launch_bounds__(THREADS)
    layer_norm_twice(const T* __restrict__ in, T* __restrict__ out, const T* __restrict__ weight,
                     const T* __restrict__ bias, long long n) {
  normalize_detail::normalize_twice<T, BYTES, THREADS, ITEMS, WHOLE, STREAM>(
      in, out, n, normalize_detail::LayerNorm<T>{weight, bias});
}
