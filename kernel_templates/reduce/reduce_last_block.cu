// Reduction of rows, each by several blocks, in one launch.
//
//   out[i] = the sum of row i, or its largest element; with argmax also that one's index
//
//   in: m x n, row-major and dense, T elements; out: m elements of OUT, in which sums are added up
//
// As reduce_split, but the block of a row that comes last also reduces the parts' values. The blocks
// of a row count themselves with `ticket`, which must be 0 before the first launch and is 0 again
// after each one.
//
// Template parameters
//   T, OUT, LARGEST, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED    as reduce_split
//
// Arguments        partial (and index): m * parts elements, scratch; ticket: m counters;
//                  parts: of a row
// Constraints      as reduce_split
// Block            THREADS threads
// Grid             m * parts blocks
// Shared memory    a value for each warp, static: sizeof(OUT) bytes, with argmax sizeof(OUT) + 8
// Memory traffic   m * n * sizeof(T) bytes, and m * parts values written and read

#include "gather.cuh"

namespace reduce_detail {

template <typename Reduction, int BYTES, int THREADS, int ITEMS, int STREAM, int INTERLEAVED>
__device__ __forceinline__ void reduce_last_block(const typename Reduction::Element* in,
                                                  typename Reduction::Array out,
                                                  typename Reduction::Array partial,
                                                  unsigned* ticket, long long n, int parts) {
  const auto value = reduced_part<Reduction, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED>(
      in + blockIdx.x / parts * n, n, static_cast<int>(blockIdx.x % parts), parts);
  finish<Reduction, THREADS>(value, out, partial, ticket, parts);
}

}  // namespace reduce_detail

template <typename T, typename OUT, int LARGEST, int BYTES, int THREADS, int ITEMS, int STREAM,
          int INTERLEAVED>
__global__ void __launch_bounds__(THREADS)
    reduce_last_block(const T* __restrict__ in, OUT* __restrict__ out, OUT* partial,
                      unsigned* ticket, long long n, int parts) {
  using Reduction = reduce_detail::ToNumber<T, OUT, LARGEST>;
  reduce_detail::reduce_last_block<Reduction, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED>(
      in, {out}, {partial}, ticket, n, parts);
}

template <typename T, typename OUT, int BYTES, int THREADS, int ITEMS, int STREAM, int INTERLEAVED>
__global__ void __launch_bounds__(THREADS)
    argmax_last_block(const T* __restrict__ in, OUT* __restrict__ out,
                      long long* __restrict__ out_index, OUT* partial, long long* index,
                      unsigned* ticket, long long n, int parts) {
  using Reduction = reduce_detail::ToIndex<T, OUT>;
  reduce_detail::reduce_last_block<Reduction, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED>(
      in, {out, out_index}, {partial, index}, ticket, n, parts);
}
