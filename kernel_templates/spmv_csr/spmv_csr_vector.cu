// Product of a sparse matrix and a vector, some threads for each row.
//
//   y[i] = sum over k from row[i] to row[i + 1] - 1 of  value[k] * x[column[k]]
//
//   row: m + 1 offsets; column, value: row[m] each, fewer than 2^31; x, y: m elements of T
//
// LANES neighboring threads read a row together, VEC non-zeros each, and add up what they have by
// shuffles; ROWS rows follow each other. Reads begin where VEC divides the offset: what lies before
// the row's first non-zero is left out again.
//
// Template parameters
//   T        element type                        float, double
//   THREADS  threads per block                   64 .. 1024
//   LANES    threads of a row                    1 .. 32, a power of two
//   VEC      non-zeros of an access              1, 2, 4
//   ITEMS    accesses in flight                  1, 2, 4
//   ROWS     rows of LANES threads               1, 2, 4, 8
//   STREAM   1: non-zeros as read_once.cuh       0, 1
//
// Block            THREADS threads
// Grid             ceil(m / (THREADS / LANES * ROWS)) blocks
// Shared memory    none
// Memory traffic   as spmv_csr_naive

#include "../common/read_once.cuh"

namespace spmv_csr_detail {

/// VEC elements from `from`, which is aligned to as many; of doubles at most two at a time.
template <int STREAM, int VEC, typename T>
__device__ __forceinline__ void read(const T* __restrict__ from, T (&to)[VEC]) {
  constexpr int BYTES = VEC * static_cast<int>(sizeof(T));
  constexpr int STEP = BYTES > 16 ? 16 / static_cast<int>(sizeof(T)) : VEC;
  struct alignas(STEP * sizeof(T)) Piece {
    T element[STEP];
  };
#pragma unroll
  for (int i = 0; i < VEC; i += STEP) {
    Piece piece;
    if constexpr (STREAM != 0) {
      piece = read_once(reinterpret_cast<const Piece*>(from + i));
    } else {
      piece = *reinterpret_cast<const Piece*>(from + i);
    }
#pragma unroll
    for (int e = 0; e < STEP; ++e) to[i + e] = piece.element[e];
  }
}

}  // namespace spmv_csr_detail

template <typename T, int THREADS, int LANES, int VEC, int ITEMS, int ROWS, int STREAM>
__global__ void __launch_bounds__(THREADS)
    spmv_csr_vector(const int* __restrict__ row, const int* __restrict__ column,
                    const T* __restrict__ value, const T* __restrict__ x, T* __restrict__ y,
                    long long m) {
  static_assert(LANES <= 32 && 32 % LANES == 0 && THREADS % 32 == 0, "a warp has whole rows");
  constexpr int STEP = LANES * VEC;
  const int lane = static_cast<int>(threadIdx.x) % LANES;
  const long long first = static_cast<long long>(blockIdx.x) * (THREADS / LANES * ROWS);
  const auto all = static_cast<unsigned>(row[m]);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const long long i = first + r * (THREADS / LANES) + static_cast<int>(threadIdx.x) / LANES;
    // Unsigned, as the last step may end behind 2^31.
    const auto begin = static_cast<unsigned>(i < m ? row[i] : 0);
    const auto end = static_cast<unsigned>(i < m ? row[i + 1] : 0);
    T sum = T(0);
    for (unsigned k = begin / VEC * VEC + lane * VEC; k < end; k += ITEMS * STEP) {
      int columns[ITEMS][VEC];
      T values[ITEMS][VEC];
#pragma unroll
      for (int item = 0; item < ITEMS; ++item) {
        const unsigned at = k + item * STEP;
        if (at < end && at + VEC <= all) {
          spmv_csr_detail::read<STREAM>(column + at, columns[item]);
          spmv_csr_detail::read<STREAM>(value + at, values[item]);
        } else {
#pragma unroll
          for (int e = 0; e < VEC; ++e) {
            columns[item][e] = at + e < end ? column[at + e] : 0;
            values[item][e] = at + e < end ? value[at + e] : T(0);
          }
        }
      }
#pragma unroll
      for (int item = 0; item < ITEMS; ++item) {
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          const unsigned at = k + item * STEP + e;
          if (at >= begin && at < end) sum += values[item][e] * x[columns[item][e]];
        }
      }
    }
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      sum += __shfl_down_sync(0xffffffffu, sum, distance, LANES);
    }
    if (lane == 0 && i < m) y[i] = sum;
  }
}
