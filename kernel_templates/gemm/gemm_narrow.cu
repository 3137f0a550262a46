// Matrix product with few columns: a warp for each few rows.
//
//   C[row][column] = sum over i of A[row][i] * B[i][column]
//
//   A: m x k, B: k x N, C: m x N, all row-major and dense, T elements; the sum is a T
//
//            k                        N
//   +-----------------+              +-+
//   | 0 1 2 ... 31 0 1 ... -->  warp |B|    lane l takes VEC elements of each of ROWS rows of A and as
//   |                 |              | |    many rows of B, and then those 32 * VEC further; in the end
//   +-----------------+              +-+    the lanes' sums are added up
//
// A, which is nearly all there is to read, is read once, as it lies in memory.
//
// Template parameters
//   T       element type                        float, double, int
//   VEC     elements that are read at a time    the most that divide k and have 16 bytes at most
//   N       columns of B and C                  1 to 8
//   ROWS    rows of each warp                   1, 2, 4
//   WARPS   warps per block                     1, 2, 4, 8
//
// Block            32 * WARPS threads
// Grid             ceil(m / (ROWS * WARPS)) blocks
// Memory traffic   (m * k + m * N) * sizeof(T) bytes, and B from the caches for each warp

#include "../common/read_once.cuh"

template <typename T, int VEC, int N, int ROWS, int WARPS, int THREADS = (32 * WARPS)>
__global__ void __launch_bounds__(THREADS)
    gemm_narrow(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int k) {
  struct alignas(sizeof(T) * VEC) Piece {
    T element[VEC];
  };
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row =
      (static_cast<int>(blockIdx.x) * WARPS + static_cast<int>(threadIdx.x) / 32) * ROWS;
  T sums[ROWS][N] = {};
#pragma unroll 4
  for (int depth = lane * VEC; depth < k; depth += 32 * VEC) {
    Piece b_pieces[N];  // VEC rows of N columns, one behind the other.
#pragma unroll
    for (int i = 0; i < N; ++i) {
      b_pieces[i] =
          *reinterpret_cast<const Piece*>(b + static_cast<long long>(depth) * N + i * VEC);
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const long long a_row = min(row + r, m - 1);
      const Piece a_piece = read_once(reinterpret_cast<const Piece*>(a + a_row * k + depth));
#pragma unroll
      for (int e = 0; e < VEC * N; ++e) {
        sums[r][e % N] += a_piece.element[e / N] * b_pieces[e / VEC].element[e % VEC];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int column = 0; column < N; ++column) {
      T sum = sums[r][column];
#pragma unroll
      for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
      if (lane == 0 && row + r < m) c[static_cast<long long>(row + r) * N + column] = sum;
    }
  }
}
