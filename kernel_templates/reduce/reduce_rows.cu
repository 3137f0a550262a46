// Reduction of rows, each by some threads of one block.
//
//   out[i] = the sum of row i, or its largest element; with argmax also that one's index
//
//   in: m x n, row-major and dense, T elements; out: m elements of OUT, in which sums are added up
//
// LANES threads read a row, BYTES at a time and each ITEMS times before it needs what it has read,
// and reduce what they have gathered by shuffles, between warps through shared memory. Rows need
// not begin at multiples of BYTES: the elements before the first such place are read one by one.
//
// Template parameters
//   T, OUT, LARGEST  as reduce_tree
//   BYTES   of an access             4, 8, 16, at least sizeof(T)
//   LANES   threads of a row         8 .. 1024, a power of two
//   ROWS    rows of a block          1, 2, 4, 8, 16, 32
//   ITEMS   accesses in flight       1, 2, 4, 8
//   STREAM  1: as read_once.cuh      0, 1
//
// Constraints      64 <= LANES * ROWS <= 1024; with argmax n < 2^31, else n < 2^31 accesses
// Block            LANES x ROWS threads
// Grid             ceil(m / ROWS) blocks
// Shared memory    with more than 32 LANES a value for each warp, static: sizeof(OUT) bytes, with
//                  argmax 16
// Memory traffic   m * n * sizeof(T) bytes

#include "gather.cuh"

namespace reduce_detail {

template <typename Reduction, int BYTES, int LANES, int ROWS, int ITEMS, int STREAM>
__device__ __forceinline__ void reduce_rows(const typename Reduction::Element* in,
                                            typename Reduction::Array out, long long m,
                                            long long n) {
  static_assert(LANES * ROWS % 32 == 0 && LANES * ROWS <= 1024, "a block has whole warps");
  const int lane = static_cast<int>(threadIdx.x);
  const int group = static_cast<int>(threadIdx.y);
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + group;
  const long long count = row < m ? n : 0;
  const auto gathered =
      gather<Reduction, BYTES, ITEMS, STREAM>(in + (row < m ? row : 0) * n, count, lane, LANES);
  const auto value = reduced<Reduction, LANES, ROWS>(Reduction::whole(gathered, 0), group, lane);
  if (lane == 0 && row < m) out.set(row, value);
}

}  // namespace reduce_detail

template <typename T, typename OUT, int LARGEST, int BYTES, int LANES, int ROWS, int ITEMS,
          int STREAM>
__global__ void __launch_bounds__(LANES* ROWS)
    reduce_rows(const T* __restrict__ in, OUT* __restrict__ out, long long m, long long n) {
  using Reduction = reduce_detail::ToNumber<T, OUT, LARGEST>;
  reduce_detail::reduce_rows<Reduction, BYTES, LANES, ROWS, ITEMS, STREAM>(in, {out}, m, n);
}

template <typename T, typename OUT, int BYTES, int LANES, int ROWS, int ITEMS, int STREAM>
__global__ void __launch_bounds__(LANES* ROWS)
    argmax_rows(const T* __restrict__ in, OUT* __restrict__ out, long long* __restrict__ out_index,
                long long m, long long n) {
  using Reduction = reduce_detail::ToIndex<T, OUT>;
  reduce_detail::reduce_rows<Reduction, BYTES, LANES, ROWS, ITEMS, STREAM>(in, {out, out_index}, m,
                                                                           n);
}
