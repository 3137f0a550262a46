// Three-dimensional stencil by blocks that walk through the planes, which are copied to shared
// memory while earlier ones are added up.
//
//   out[z][y][x] = sum over i, j, k from -RADIUS to RADIUS of w[i][j][k] * in[z + i][y + j][x + k]
//
//   in, out, w: as in stencil3d_naive.cu
//
// A thread has VEC columns and ROWS rows. A block has a ring of STAGES planes of its tile with all
// neighbors. Copies are asynchronous (cp.async), and write zeros for what lies outside of the
// volume. Sums along z are kept in registers, so that the tile has no neighbors in that direction.
//
// Template parameters
//   T        element type                       float, double
//   RADIUS   of the problem                     1 .. 4
//   BOX      of the problem                     0: star, 1: box
//   VEC      elements of an access              1, 2, 4; it divides n
//   ACROSS, DOWN  threads of a block            64 .. 1024 in all
//   ROWS     rows of a thread                   1, 2, 4, 8
//   STAGES   planes in shared memory            2 .. 6
//   STREAM   1: what is written is not kept in caches
//
// Arguments        planes: of out that a block computes
// Constraints      4 <= VEC * sizeof(T) <= 16
// Block            ACROSS x DOWN threads
// Grid             ceil(n / (ACROSS * VEC)) * ceil(m / (DOWN * ROWS)) * ceil(l / planes) blocks
// Shared memory    STAGES * (DOWN * ROWS + 2 * RADIUS) * PITCH * sizeof(T) bytes, dynamic;
//                  PITCH = ACROSS * VEC + 2 * RADIUS with RADIUS rounded up to VEC
// Memory traffic   2 * l * m * n * sizeof(T) bytes at least; 2 * RADIUS planes more for each block

#include "../common/async_copy.cuh"
#include "plane_sums.cuh"

namespace stencil_detail {

template <typename T, int VEC, int RADIUS, int ACROSS, int DOWN, int ROWS, int STAGES>
struct CopiedPlanes {
  using Tile = stencil_detail::Tile<T, VEC, RADIUS, ACROSS, DOWN, ROWS>;
  static constexpr int PLACE = Tile::HEIGHT * Tile::PITCH;
  const T* in;  ///< The volume.
  T* places;
  BlockOfPlanes block;
  long long l;
  long long m;
  long long n;

  __device__ __forceinline__ void start(int plane, int planes) const {
    constexpr int PIECES = Tile::PITCH / VEC;
    if (plane < planes) {
      const long long z = block.plane - RADIUS + plane;
      T* const to = places + plane % STAGES * PLACE;
      const int thread = static_cast<int>(threadIdx.y) * ACROSS + static_cast<int>(threadIdx.x);
#pragma unroll
      for (int first = 0; first < PIECES * Tile::HEIGHT; first += ACROSS * DOWN) {
        const int i = first + thread;
        if (i >= PIECES * Tile::HEIGHT) break;
        const long long y = block.row - RADIUS + i / PIECES;
        const long long x = block.column - Tile::HALO + i % PIECES * VEC;
        start_copy<VEC * sizeof(T)>(to + i * VEC, in + (z * m + y) * n + x,
                                    z >= 0 && z < l && y >= 0 && y < m && x >= 0 && x < n);
      }
    }
    close_copies();
  }

  __device__ __forceinline__ const T* wait(int plane) const {
    wait_for_copies<STAGES - 2>();
    __syncthreads();
    return places + plane % STAGES * PLACE + RADIUS * Tile::PITCH + Tile::HALO;
  }
};

}  // namespace stencil_detail

template <typename T, int RADIUS, int BOX, int VEC, int ACROSS, int DOWN, int ROWS, int STAGES,
          int STREAM>
__global__ void __launch_bounds__(ACROSS* DOWN)
    stencil3d_async(const T* __restrict__ in, T* __restrict__ out, long long l, long long m,
                    long long n, int planes) {
  static_assert(RADIUS >= 1 && RADIUS <= 4, "there are weights for radius 1 to 4");
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  const stencil_detail::BlockOfPlanes block(m, n, ACROSS * VEC, DOWN * ROWS, planes);
  const stencil_detail::CopiedPlanes<T, VEC, RADIUS, ACROSS, DOWN, ROWS, STAGES> ring{
      in, reinterpret_cast<T*>(shared_bytes), block, l, m, n};
  stencil_detail::walk_through<T, VEC, RADIUS, BOX, ACROSS, DOWN, ROWS, STAGES, STREAM>(
      ring, out, block, l, m, n, planes);
}
