// Reduction of rows, each by several blocks, in two launches.
//
//   out[i] = the sum of row i, or its largest element; with argmax also that one's index
//
//   in: m x n, row-major and dense, T elements; out: m elements of OUT, in which sums are added up
//
// Each block reads its part of a row, BYTES at a time and each thread ITEMS times before it needs
// what it has read. A second launch reduces the parts' values, always in the same order, so that the
// result of a configuration does not change from run to run.
//
// Template parameters
//   T, OUT, LARGEST  as reduce_tree
//   BYTES        of an access             4, 8, 16, at least sizeof(T)
//   THREADS      threads per block        64 .. 1024, a power of two
//   ITEMS        accesses in flight       1, 2, 4, 8
//   STREAM       1: as read_once.cuh      0, 1
//   INTERLEAVED  0: a part is a piece of the row; 1: its accesses are spread over all of it
//
// Arguments        partial (and index): m * parts elements, scratch; parts: of a row
// Constraints      a part has fewer than 2^31 accesses, with argmax 2^31 elements; with INTERLEAVED
//                  the row
// Block            THREADS threads; 256 in the second launch
// Grid             m * parts blocks; m in the second launch
// Shared memory    a value for each warp, static: sizeof(OUT) bytes, with argmax sizeof(OUT) + 8
// Memory traffic   m * n * sizeof(T) bytes, and m * parts values written and read

#include "gather.cuh"

template <typename T, typename OUT, int LARGEST, int BYTES, int THREADS, int ITEMS, int STREAM,
          int INTERLEAVED>
__global__ void __launch_bounds__(THREADS)
    reduce_split(const T* __restrict__ in, OUT* __restrict__ partial, long long n, int parts) {
  using Reduction = reduce_detail::ToNumber<T, OUT, LARGEST>;
  const long long row = blockIdx.x / parts;
  const int part = static_cast<int>(blockIdx.x % parts);
  const auto value =
      reduce_detail::reduced_part<Reduction, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED>(
          in + row * n, n, part, parts);
  if (threadIdx.x == 0) typename Reduction::Array{partial}.set(blockIdx.x, value);
}

template <typename T, typename OUT, int LARGEST>
__global__ void __launch_bounds__(256)
    reduce_split_values(OUT* __restrict__ partial, OUT* __restrict__ out, int parts) {
  using Reduction = reduce_detail::ToNumber<T, OUT, LARGEST>;
  const long long row = blockIdx.x;
  const auto value = reduce_detail::reduced_values<Reduction, 256>({partial}, row * parts, parts);
  if (threadIdx.x == 0) typename Reduction::Array{out}.set(row, value);
}

template <typename T, typename OUT, int BYTES, int THREADS, int ITEMS, int STREAM, int INTERLEAVED>
__global__ void __launch_bounds__(THREADS)
    argmax_split(const T* __restrict__ in, OUT* __restrict__ partial, long long* __restrict__ index,
                 long long n, int parts) {
  using Reduction = reduce_detail::ToIndex<T, OUT>;
  const long long row = blockIdx.x / parts;
  const int part = static_cast<int>(blockIdx.x % parts);
  const auto value =
      reduce_detail::reduced_part<Reduction, BYTES, THREADS, ITEMS, STREAM, INTERLEAVED>(
          in + row * n, n, part, parts);
  if (threadIdx.x == 0) typename Reduction::Array{partial, index}.set(blockIdx.x, value);
}

template <typename T, typename OUT>
__global__ void __launch_bounds__(256)
    argmax_split_values(OUT* __restrict__ partial, long long* __restrict__ index,
                        OUT* __restrict__ out, long long* __restrict__ out_index, int parts) {
  using Reduction = reduce_detail::ToIndex<T, OUT>;
  const long long row = blockIdx.x;
  const auto value =
      reduce_detail::reduced_values<Reduction, 256>({partial, index}, row * parts, parts);
  if (threadIdx.x == 0) typename Reduction::Array{out, out_index}.set(row, value);
}
