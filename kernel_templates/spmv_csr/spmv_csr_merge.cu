// Product of a sparse matrix and a vector, as much work for each thread whatever the rows' lengths.
//
//   y[i] = sum over k from row[i] to row[i + 1] - 1 of  value[k] * x[column[k]]
//
//   row: m + 1 offsets; column, value: row[m] each, fewer than 2^31; x, y: m elements of T
//
// The work is a path of m + row[m] steps (Merrill and Garland's merge path): non-zeros in their
// order, and behind those of each row the step that ends it. Every block takes a tile of
// THREADS * ITEMS steps, every thread ITEMS of them, and finds by bisection what they are:
//
//   row 0 has 3 non-zeros, row 1 none, row 2 two     path  0 1 2 | | 3 4 |     | ends a row
//
// A block copies its products and the offsets at which its rows end to shared memory. Its threads
// follow their steps there and hand on the sum of the row that they have not ended. A second launch
// adds what blocks hand on, by atomic additions: in another order each time where many blocks share
// a row.
//
// Template parameters
//   T        element type                        float, double
//   THREADS  threads per block                   64 .. 1024, a multiple of 64
//   ITEMS    steps of a thread                   3 .. 32; odd ones avoid conflicts of banks
//   STREAM   1: non-zeros as read_once.cuh       0, 1
//
// Arguments        open_row, open_sum: an element for each tile, scratch
// Block            THREADS threads; 256 in the second launch
// Grid             a block for each tile; ceil(tiles / 256) in the second launch
// Shared memory    THREADS * ITEMS elements of T, for each warp an element of T and 4 bytes, and 16
//                  bytes, static
// Memory traffic   as spmv_csr_naive, and 2 * (sizeof(T) + 8) bytes for each tile

#include "../common/read_once.cuh"

namespace spmv_csr_detail {

/// A place on the path: behind so many ends of rows and so many non-zeros.
struct Place {
  int rows;
  int nonzeros;
};

/// The place of a step on the path of `rows` rows, which end at ends[0], ends[1], ... The lanes of
/// a warp look for it together, each in another 32nd.
__device__ __forceinline__ Place place_of(long long step, const int* __restrict__ ends,
                                          long long rows, long long nonzeros) {
  long long low = max(step - nonzeros, 0LL);
  long long high = min(step, rows);  // The answer is one of low to high.
  const int lane = static_cast<int>(threadIdx.x) % 32;
  while (low < high) {
    const long long part = (high - low + 31) / 32;
    const long long at = low + lane * part;
    // Ends of rows come behind the non-zeros before them.
    const bool before = at < high && ends[at] <= step - at - 1;
    const int count = __popc(__ballot_sync(0xffffffffu, before));
    if (count == 0) {
      high = low;
    } else {
      high = min(low + count * part, high);
      low += (count - 1) * part + 1;
    }
  }
  return {static_cast<int>(low), static_cast<int>(step - low)};
}

}  // namespace spmv_csr_detail

template <typename T, int THREADS, int ITEMS, int STREAM>
__global__ void __launch_bounds__(THREADS)
    spmv_csr_merge(const int* __restrict__ row, const int* __restrict__ column,
                   const T* __restrict__ value, const T* __restrict__ x, T* __restrict__ y,
                   int* __restrict__ open_row, T* __restrict__ open_sum, long long m) {
  using spmv_csr_detail::Place;
  static_assert(THREADS % 64 == 0, "one warp looks for the tile's begin, another for its end");
  constexpr int TILE = THREADS * ITEMS;
  constexpr int WARPS = THREADS / 32;
  __shared__ T shared[TILE];
  __shared__ T warp_sum[WARPS];
  __shared__ int warp_ended[WARPS];
  __shared__ Place place[2];

  const int thread = static_cast<int>(threadIdx.x);
  const int nonzeros = row[m];
  const long long steps = m + nonzeros;
  const long long first = static_cast<long long>(blockIdx.x) * TILE;
  const int* const ends = row + 1;
  if (thread < 64) {
    const Place found =
        spmv_csr_detail::place_of(min(first + thread / 32 * TILE, steps), ends, m, nonzeros);
    if (thread % 32 == 0) place[thread / 32] = found;
  }
  __syncthreads();
  const Place begin = place[0];
  const int products = place[1].nonzeros - begin.nonzeros;
  const int rows = place[1].rows - begin.rows;

  // Products, then ends of rows as counted from the tile's first non-zero: as many as steps.
  int* const end_of = reinterpret_cast<int*>(shared + products);
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const int i = thread + item * THREADS;
    if (i < products) {
      const int* const from = column + begin.nonzeros + i;
      const T* const factor = value + begin.nonzeros + i;
      if constexpr (STREAM != 0) {
        shared[i] = read_once(factor) * x[read_once(from)];
      } else {
        shared[i] = *factor * x[*from];
      }
    }
  }
  for (int i = thread; i < rows; i += THREADS) {
    end_of[i] = ends[begin.rows + i] - begin.nonzeros;
  }
  __syncthreads();

  // The thread's steps.
  const int step = min(thread * ITEMS, products + rows);
  int low = max(step - products, 0);
  int high = min(step, rows);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (end_of[middle] <= step - middle - 1) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int at_row = low;
  int at = step - low;
  const int count = min(ITEMS, products + rows - step);
  T sum = T(0);
  T first_sum = T(0);
  int first_row = -1;  // The first row that the thread ends.
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    if (item >= count) break;
    if (at_row < rows && end_of[at_row] <= at) {
      if (first_row < 0) {
        first_row = at_row;
        first_sum = sum;
      } else {
        y[begin.rows + at_row] = sum;
      }
      sum = T(0);
      ++at_row;
    } else {
      sum += shared[at++];
    }
  }

  // Threads hand on their sums: `handed` goes back to the last thread that has ended a row.
  const int lane = thread % 32;
  const int warp = thread / 32;
  T handed = sum;
  int ended = first_row >= 0 ? 1 : 0;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const T sum_before = __shfl_up_sync(0xffffffffu, handed, distance);
    const int ended_before = __shfl_up_sync(0xffffffffu, ended, distance);
    if (lane >= distance && ended == 0) {
      handed += sum_before;
      ended = ended_before;
    }
  }
  if (lane == 31) {
    warp_sum[warp] = handed;
    warp_ended[warp] = ended;
  }
  __syncthreads();
  T carried = T(0);  // Into the warp.
  for (int before = 0; before < warp; ++before) {
    carried = warp_sum[before] + (warp_ended[before] != 0 ? T(0) : carried);
  }
  const T total = handed + (ended != 0 ? T(0) : carried);
  const T sum_before = __shfl_up_sync(0xffffffffu, total, 1);
  if (first_row >= 0) y[begin.rows + first_row] = first_sum + (lane == 0 ? carried : sum_before);
  if (thread == THREADS - 1) {
    open_row[blockIdx.x] = begin.rows + rows;
    open_sum[blockIdx.x] = total;
  }
}

/// Adds what tiles have handed on to the rows that end in later ones.
template <typename T>
__global__ void __launch_bounds__(256)
    spmv_csr_merge_open(const int* __restrict__ open_row, const T* __restrict__ open_sum,
                        T* __restrict__ y, long long m, int tiles) {
  const int tile = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
  if (tile < tiles && open_row[tile] < m) atomicAdd(y + open_row[tile], open_sum[tile]);
}
