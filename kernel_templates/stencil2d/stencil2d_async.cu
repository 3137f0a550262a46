// Two-dimensional stencil by warps that walk down the matrix, whose rows are copied to shared
// memory while earlier ones are added up.
//
//   out[y][x] = sum over i, j from -RADIUS to RADIUS of w[i][j] * in[y + i][x + j]
//
//   in, out, w: as in stencil2d_naive.cu
//
// Each warp has a ring of STAGES groups of GROUP rows to itself, so that no warp waits for another
// one. A thread has VEC columns. Its copies are asynchronous (cp.async), and write zeros for what
// lies outside of the matrix.
//
// Template parameters
//   T        element type                       float, double
//   RADIUS   of the problem                     1 .. 4
//   BOX      of the problem                     0: star, 1: box
//   VEC      elements of an access              1, 2, 4; it divides n
//   WARPS    of a block, beside each other      1 .. 16
//   GROUP    rows that are copied at a time     1, 2, 4, 8
//   STAGES   groups in shared memory            2 .. 8
//   STREAM   1: what is written is not kept in caches
//
// Arguments        rows: of out that a warp computes
// Constraints      4 <= VEC * sizeof(T) <= 16
// Block            32 * WARPS threads
// Grid             ceil(n / (WARPS * 32 * VEC)) * ceil(m / rows) blocks
// Shared memory    WARPS * STAGES * GROUP * PITCH * sizeof(T) bytes, dynamic; PITCH is 32 * VEC +
//                  2 * RADIUS with RADIUS rounded up to VEC
// Memory traffic   2 * m * n * sizeof(T) bytes at least; 2 * RADIUS rows more for each warp

#include "../common/async_copy.cuh"
#include "row_sums.cuh"

namespace stencil_detail {

template <typename T, int VEC, int RADIUS, int GROUP, int STAGES>
struct CopiedRows {
  static constexpr int HALO = kHalo<RADIUS, VEC>;
  static constexpr int PITCH = 32 * VEC + 2 * HALO;
  static constexpr int BYTES = VEC * static_cast<int>(sizeof(T));
  const T* in;       ///< The matrix.
  T* places;         ///< Of this warp.
  long long column;  ///< First one that the warp computes.
  long long row;
  long long m;
  long long n;

  __device__ __forceinline__ void start(int group, int groups) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (group < groups) {
      T* const to = places + group % STAGES * (GROUP * PITCH);
#pragma unroll
      for (int i = 0; i < GROUP; ++i) {
        const long long y = row - RADIUS + group * GROUP + i;
#pragma unroll
        for (int piece = 0; piece < PITCH; piece += 32 * VEC) {
          const int x = piece + lane * VEC;
          if (x >= PITCH) break;
          const long long from = column - HALO + x;
          start_copy<BYTES>(to + i * PITCH + x, in + y * n + from,
                            y >= 0 && y < m && from >= 0 && from < n);
        }
      }
    }
    close_copies();
  }

  __device__ __forceinline__ const T* wait(int group) const {
    wait_for_copies<STAGES - 2>();
    __syncwarp();  // The group is there, and nobody reads the one before it any more.
    return places + group % STAGES * (GROUP * PITCH) + HALO;
  }
};

}  // namespace stencil_detail

template <typename T, int RADIUS, int BOX, int VEC, int WARPS, int GROUP, int STAGES, int STREAM>
__global__ void __launch_bounds__(32 * WARPS)
    stencil2d_async(const T* __restrict__ in, T* __restrict__ out, long long m, long long n,
                    int rows) {
  static_assert(RADIUS >= 1 && RADIUS <= 4, "there are weights for radius 1 to 4");
  using Ring = stencil_detail::CopiedRows<T, VEC, RADIUS, GROUP, STAGES>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  const stencil_detail::BlockOfRows block(n, WARPS * 32 * VEC, rows);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const long long column = block.column + warp * 32 * VEC;
  T* const places = reinterpret_cast<T*>(shared_bytes) + warp * (STAGES * GROUP * Ring::PITCH);
  const Ring ring{in, places, column, block.row, m, n};
  stencil_detail::walk_down<T, VEC, RADIUS, BOX, GROUP, STAGES, Ring::PITCH, STREAM>(
      ring, out, column, block.row, m, n, rows);
}
