// Three-dimensional stencil by blocks that walk through the planes, which the tensor memory
// accelerator (TMA) copies to shared memory while earlier ones are added up.
//
//   out[z][y][x] = sum over i, j, k from -RADIUS to RADIUS of w[i][j][k] * in[z + i][y + j][x + k]
//
//   in, out, w: as in stencil3d_naive.cu; in is a tensor map with boxes of 1 x HEIGHT x PITCH
//
// Blocks walk as in stencil3d_async.cu; one thread asks for a whole plane of the tile with its
// neighbors, and for zeros where they lie outside of the volume.
//
// Template parameters
//   T, RADIUS, BOX, ACROSS, DOWN, ROWS, STAGES, STREAM    as in stencil3d_async.cu
//
// Arguments        planes: of out that a block computes
// Constraints      n * sizeof(T) is a multiple of 16; HEIGHT and PITCH are at most 256; Hopper or
//                  newer
// Block            ACROSS x DOWN threads
// Grid             ceil(n / (ACROSS * VEC)) * ceil(m / (DOWN * ROWS)) * ceil(l / planes) blocks;
//                  VEC = 16 / sizeof(T)
// Shared memory    STAGES * (P + 8) bytes, dynamic; P = HEIGHT * PITCH * sizeof(T) rounded up to
//                  128, HEIGHT = DOWN * ROWS + 2 * RADIUS, PITCH = ACROSS * VEC + 2 * RADIUS with
//                  RADIUS rounded up to VEC
// Memory traffic   2 * l * m * n * sizeof(T) bytes at least; 2 * RADIUS planes more for each block

#include "../common/bulk_copy.cuh"
#include "../common/hopper.cuh"
#include "plane_sums.cuh"

namespace stencil_detail {

/// Copies the box at (x, y, z) of a map with three dimensions to shared memory, and zeros for what
/// lies outside the tensor.
__device__ __forceinline__ void load_volume(unsigned to, const TensorMap& map, int x, int y, int z,
                                            unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

template <typename T, int RADIUS, int ACROSS, int DOWN, int ROWS, int STAGES>
struct BoxesOfPlanes {
  static constexpr int VEC = 16 / static_cast<int>(sizeof(T));
  using Tile = stencil_detail::Tile<T, VEC, RADIUS, ACROSS, DOWN, ROWS>;
  static constexpr int BYTES = Tile::HEIGHT * Tile::PITCH * static_cast<int>(sizeof(T));
  static constexpr int PLACE = (BYTES + 127) / 128 * 128;
  const TensorMap& map;
  unsigned char* places;
  unsigned long long* arrived;
  int column;  ///< First one of the tile.
  int row;
  int first;  ///< Plane.

  __device__ __forceinline__ bool asks() const { return threadIdx.x == 0 && threadIdx.y == 0; }

  __device__ __forceinline__ void start(int plane, int planes) const {
    if (plane >= planes || !asks()) return;
    const int stage = plane % STAGES;
    const unsigned barrier = hopper::shared_address(arrived + stage);
    hopper::arrive_and_expect(barrier, BYTES);
    load_volume(hopper::shared_address(places + stage * PLACE), map, column - Tile::HALO,
                row - RADIUS, first - RADIUS + plane, barrier);
  }

  __device__ __forceinline__ const T* wait(int plane) const {
    hopper::end_reads();
    __syncthreads();
    hopper::wait_for_phase(hopper::shared_address(arrived + plane % STAGES), plane / STAGES & 1);
    return reinterpret_cast<const T*>(places + plane % STAGES * PLACE) + RADIUS * Tile::PITCH +
           Tile::HALO;
  }
};

}  // namespace stencil_detail

template <typename T, int RADIUS, int BOX, int ACROSS, int DOWN, int ROWS, int STAGES, int STREAM>
__global__ void __launch_bounds__(ACROSS* DOWN)
    stencil3d_bulk(const __grid_constant__ TensorMap in, T* __restrict__ out, long long l,
                   long long m, long long n, int planes) {
  static_assert(RADIUS >= 1 && RADIUS <= 4, "there are weights for radius 1 to 4");
  using Ring = stencil_detail::BoxesOfPlanes<T, RADIUS, ACROSS, DOWN, ROWS, STAGES>;
  extern __shared__ __align__(128) unsigned char shared_boxes[];
  auto* const arrived = reinterpret_cast<unsigned long long*>(shared_boxes + STAGES * Ring::PLACE);
  const stencil_detail::BlockOfPlanes block(m, n, ACROSS * Ring::VEC, DOWN * ROWS, planes);
  const Ring ring{in,
                  shared_boxes,
                  arrived,
                  static_cast<int>(block.column),
                  static_cast<int>(block.row),
                  static_cast<int>(block.plane)};
  if (ring.asks()) {
    for (int stage = 0; stage < STAGES; ++stage) {
      hopper::make_barrier(hopper::shared_address(arrived + stage), 1);
    }
    hopper::publish_barriers();
  }
  __syncthreads();
  stencil_detail::walk_through<T, Ring::VEC, RADIUS, BOX, ACROSS, DOWN, ROWS, STAGES, STREAM>(
      ring, out, block, l, m, n, planes);
}
