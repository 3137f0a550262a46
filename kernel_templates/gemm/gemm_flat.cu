// Matrix product with few rows: a warp for some columns, many for the depth.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: M x k, B: k x n, C: M x n, all row-major and dense, T elements; the sum is a T
//
//                         32 * VEC columns
//          k                   n
//   M +---------+        +---+-----+---+   warp 0 of block 0    lane l takes VEC elements of each
//     +---------+        |   |.....|   |   warp 1               row of B; in the end the warps' sums
//                      k |   |.....|   |   ...                  are added up in shared memory, then
//                        |   |.....|   |   warp 0 of block 1    those of the SPLIT blocks of a
//                        +---+-----+---+   ...                  cluster, always in the same order
//
// B, which is nearly all there is to read, is read once, as it lies in memory.
//
// Template parameters
//   T       element type                        float, double, int
//   VEC     elements that are read at a time    the most that divide n and have 16 bytes at most
//   M       rows of A and C                     1 to 8
//   WARPS   warps per block                     4, 8, 16
//   SPLIT   blocks of a cluster                 1; on sm_90 and later also 2, 4, 8
//
// Block            32 * WARPS threads
// Grid             ceil(n / (32 * VEC)) * SPLIT blocks, SPLIT of a cluster
// Shared memory    WARPS * M * 32 * VEC * sizeof(T) bytes
// Memory traffic   (k * n + M * n) * sizeof(T) bytes, and A from the caches for each warp

#include "../common/hopper.cuh"
#include "../common/read_once.cuh"

template <typename T, int VEC, int M, int WARPS, int SPLIT, int THREADS = (32 * WARPS)>
__global__ void __launch_bounds__(THREADS)
    gemm_flat(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int n, int k) {
  struct alignas(sizeof(T) * VEC) Piece {
    T element[VEC];
  };
  constexpr int kColumns = 32 * VEC;
  __shared__ __align__(16) T sums_of_warps[WARPS][M * kColumns];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int rank = static_cast<int>(blockIdx.x) % SPLIT;
  const int first_column = static_cast<int>(blockIdx.x) / SPLIT * kColumns;
  const int column = first_column + lane * VEC;

  T sums[M][VEC] = {};
  if (column < n) {
    constexpr int kStep = SPLIT * WARPS;
    constexpr int kAhead = 4;  // Rows that are asked for at a time; with 8 it was 3 to 5 % slower.
    for (int depth = rank * WARPS + warp; depth < k; depth += kAhead * kStep) {
      Piece pieces[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int row = min(depth + i * kStep, k - 1);
        pieces[i] =
            read_once(reinterpret_cast<const Piece*>(b + static_cast<long long>(row) * n + column));
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (depth + i * kStep >= k) break;
#pragma unroll
        for (int row = 0; row < M; ++row) {
          const T factor = a[static_cast<long long>(row) * k + depth + i * kStep];
#pragma unroll
          for (int e = 0; e < VEC; ++e) sums[row][e] += factor * pieces[i].element[e];
        }
      }
    }
  }
#pragma unroll
  for (int row = 0; row < M; ++row) {
#pragma unroll
    for (int e = 0; e < VEC; ++e) {
      sums_of_warps[warp][row * kColumns + lane * VEC + e] = sums[row][e];
    }
  }
  __syncthreads();

  // Four numbers of 4 bytes, or two of 8, at a time.
  constexpr int kTogether = 16 / static_cast<int>(sizeof(T));
  const auto store = [&](int at, const T(&sum)[kTogether]) {
#pragma unroll
    for (int e = 0; e < kTogether; ++e) {
      const int row = (at + e) / kColumns;
      const int to = first_column + (at + e) % kColumns;
      if (to < n) c[static_cast<long long>(row) * n + to] = sum[e];
    }
  };
  for (int at = static_cast<int>(threadIdx.x) * kTogether; at < M * kColumns;
       at += THREADS * kTogether) {
    T sum[kTogether] = {};
    for (int other = 0; other < WARPS; ++other) {
#pragma unroll
      for (int e = 0; e < kTogether; ++e) sum[e] += sums_of_warps[other][at + e];
    }
    if constexpr (SPLIT == 1) {
      store(at, sum);
    } else {
#pragma unroll
      for (int e = 0; e < kTogether; ++e) sums_of_warps[0][at + e] = sum[e];
    }
  }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  if constexpr (SPLIT > 1) {
    hopper::sync_cluster();
    const unsigned own = hopper::shared_address(sums_of_warps);
    for (int at = (static_cast<int>(threadIdx.x) * SPLIT + rank) * kTogether; at < M * kColumns;
         at += THREADS * SPLIT * kTogether) {
      T sum[kTogether] = {};
#pragma unroll
      for (int block = 0; block < SPLIT; ++block) {
        T more[kTogether];
        hopper::load_of_cluster(
            more, hopper::in_block(own, block) + at * static_cast<unsigned>(sizeof(T)));
#pragma unroll
        for (int e = 0; e < kTogether; ++e) sum[e] += more[e];
      }
      store(at, sum);
    }
    hopper::sync_cluster();  // Others may still read this block's sums.
  }
#endif
}
