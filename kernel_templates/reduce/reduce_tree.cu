// Reduction by a tree in shared memory: the reference for the other reductions.
//
//   out[i] = the sum of row i, or its largest element; with argmax also that one's index
//
//   in: m x n, row-major and dense, T elements; out: m elements of OUT, in which sums are added up
//
// Each thread loads one element of a row. Then half of the block's threads add an element of the
// other half to their own, then a quarter of them, until one is left:
//
//   a   b   c   d   e   f   g   h
//   a+e b+f c+g d+h                      log2(THREADS) steps, with a barrier in each
//   a+e+c+g ...
//
// The blocks' values are reduced in a second launch, by one block for each row.
//
// Template parameters
//   T        element type                        float, double, int, int8_t, __half, __nv_bfloat16
//   OUT      in which values are kept            float, double, int, long long
//   LARGEST  0: sums; 1: largest elements        of the problem; argmax has none
//   THREADS  threads per block                   64 .. 1024, a power of two
//
// Arguments        partial (and index): m * ceil(n / THREADS) elements, scratch
// Block            THREADS threads
// Grid             m * ceil(n / THREADS) blocks; m in the second launch
// Shared memory    THREADS values, static: sizeof(OUT) bytes, with argmax sizeof(OUT) + 8
// Memory traffic   m * n * sizeof(T) bytes, and m * ceil(n / THREADS) values written and read

#include "reduction.cuh"

namespace reduce_detail {

/// The value of all threads of the block, in the first of them.
template <typename Reduction, int THREADS>
__device__ __forceinline__ typename Reduction::Value tree(typename Reduction::Value value) {
  static_assert((THREADS & (THREADS - 1)) == 0, "half of the threads are left in each step");
  __shared__ typename Reduction::Value values[THREADS];
  const int thread = static_cast<int>(threadIdx.x);
  values[thread] = value;
  for (int left = THREADS / 2; left > 0; left /= 2) {
    __syncthreads();
    if (thread < left) values[thread] = Reduction::both(values[thread], values[thread + left]);
  }
  return values[thread];
}

template <typename Reduction, int THREADS>
__device__ __forceinline__ void tree_of_elements(const typename Reduction::Element* in,
                                                 typename Reduction::Array partial, long long n) {
  const long long blocks = (n + THREADS - 1) / THREADS;  // Of a row.
  const long long row = blockIdx.x / blocks;
  const long long column = blockIdx.x % blocks * THREADS + threadIdx.x;
  auto gathered = Reduction::gather(column < n ? 0 : -1);
  if (column < n) Reduction::add(gathered, in[row * n + column], 0);
  const auto value = tree<Reduction, THREADS>(Reduction::whole(gathered, column));
  if (threadIdx.x == 0) partial.set(blockIdx.x, value);
}

template <typename Reduction, int THREADS>
__device__ __forceinline__ void tree_of_values(typename Reduction::Array partial,
                                               typename Reduction::Array out, int count) {
  auto value = Reduction::none();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += THREADS) {
    value = Reduction::both(value, partial.get(static_cast<long long>(blockIdx.x) * count + i));
  }
  value = tree<Reduction, THREADS>(value);
  if (threadIdx.x == 0) out.set(blockIdx.x, value);
}

}  // namespace reduce_detail

template <typename T, typename OUT, int LARGEST, int THREADS>
__global__ void __launch_bounds__(THREADS)
    reduce_tree(const T* __restrict__ in, OUT* __restrict__ partial, long long n) {
  using Reduction = reduce_detail::ToNumber<T, OUT, LARGEST>;
  reduce_detail::tree_of_elements<Reduction, THREADS>(in, {partial}, n);
}

template <typename T, typename OUT, int LARGEST, int THREADS>
__global__ void __launch_bounds__(THREADS)
    reduce_tree_values(OUT* __restrict__ partial, OUT* __restrict__ out, int count) {
  using Reduction = reduce_detail::ToNumber<T, OUT, LARGEST>;
  reduce_detail::tree_of_values<Reduction, THREADS>({partial}, {out}, count);
}

template <typename T, typename OUT, int THREADS>
__global__ void __launch_bounds__(THREADS)
    argmax_tree(const T* __restrict__ in, OUT* __restrict__ partial, long long* __restrict__ index,
                long long n) {
  using Reduction = reduce_detail::ToIndex<T, OUT>;
  reduce_detail::tree_of_elements<Reduction, THREADS>(in, {partial, index}, n);
}

template <typename T, typename OUT, int THREADS>
__global__ void __launch_bounds__(THREADS)
    argmax_tree_values(OUT* __restrict__ partial, long long* __restrict__ index,
                       OUT* __restrict__ out, long long* __restrict__ out_index, int count) {
  using Reduction = reduce_detail::ToIndex<T, OUT>;
  reduce_detail::tree_of_values<Reduction, THREADS>({partial, index}, {out, out_index}, count);
}
