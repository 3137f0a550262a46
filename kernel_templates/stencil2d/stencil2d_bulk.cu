// Two-dimensional stencil by warps that walk down the matrix, whose rows the tensor memory
// accelerator (TMA) copies to shared memory while earlier ones are added up.
//
//   out[y][x] = sum over i, j from -RADIUS to RADIUS of w[i][j] * in[y + i][x + j]
//
//   in, out, w: as in stencil2d_naive.cu; in is a tensor map with boxes of GROUP x PITCH
//
// Warps walk as in stencil2d_async.cu; one thread of a warp asks for all GROUP rows at once, and
// for zeros where they lie outside of the matrix.
//
// Template parameters
//   T, RADIUS, BOX, WARPS, GROUP, STAGES, STREAM    as in stencil2d_async.cu
//
// Arguments        rows: of out that a warp computes
// Constraints      n * sizeof(T) is a multiple of 16; Hopper or newer
// Block            32 * WARPS threads
// Grid             ceil(n / (WARPS * 32 * VEC)) * ceil(m / rows) blocks; VEC = 16 / sizeof(T)
// Shared memory    WARPS * STAGES * (P + 8) bytes, dynamic; P = GROUP * PITCH * sizeof(T) rounded
//                  up to 128, PITCH = 32 * VEC + 2 * RADIUS with RADIUS rounded up to VEC
// Memory traffic   2 * m * n * sizeof(T) bytes at least; 2 * RADIUS rows more for each warp

#include "../common/bulk_copy.cuh"
#include "../common/hopper.cuh"
#include "row_sums.cuh"

namespace stencil_detail {

template <typename T, int RADIUS, int GROUP, int STAGES>
struct BoxesOfRows {
  static constexpr int VEC = 16 / static_cast<int>(sizeof(T));
  static constexpr int HALO = kHalo<RADIUS, VEC>;
  static constexpr int PITCH = 32 * VEC + 2 * HALO;
  static constexpr int BYTES = GROUP * PITCH * static_cast<int>(sizeof(T));
  static constexpr int PLACE = (BYTES + 127) / 128 * 128;
  const TensorMap& map;
  unsigned char* places;  ///< Of this warp.
  unsigned long long* arrived;
  int column;  ///< First one that the warp computes.
  int row;

  __device__ __forceinline__ void start(int group, int groups) const {
    if (group >= groups || threadIdx.x % 32 != 0) return;
    const int stage = group % STAGES;
    const unsigned barrier = hopper::shared_address(arrived + stage);
    hopper::arrive_and_expect(barrier, BYTES);
    hopper::load_box(hopper::shared_address(places + stage * PLACE), map, column - HALO,
                     row - RADIUS + group * GROUP, barrier);
  }

  __device__ __forceinline__ const T* wait(int group) const {
    hopper::end_reads();
    __syncwarp();  // Nobody reads the group before this one any more.
    hopper::wait_for_phase(hopper::shared_address(arrived + group % STAGES), group / STAGES & 1);
    return reinterpret_cast<const T*>(places + group % STAGES * PLACE) + HALO;
  }
};

}  // namespace stencil_detail

template <typename T, int RADIUS, int BOX, int WARPS, int GROUP, int STAGES, int STREAM>
__global__ void __launch_bounds__(32 * WARPS)
    stencil2d_bulk(const __grid_constant__ TensorMap in, T* __restrict__ out, long long m,
                   long long n, int rows) {
  static_assert(RADIUS >= 1 && RADIUS <= 4, "there are weights for radius 1 to 4");
  using Ring = stencil_detail::BoxesOfRows<T, RADIUS, GROUP, STAGES>;
  extern __shared__ __align__(128) unsigned char shared_boxes[];
  auto* const arrived =
      reinterpret_cast<unsigned long long*>(shared_boxes + WARPS * STAGES * Ring::PLACE);
  const stencil_detail::BlockOfRows block(n, WARPS * 32 * Ring::VEC, rows);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const long long column = block.column + warp * 32 * Ring::VEC;
  const Ring ring{in, shared_boxes + warp * (STAGES * Ring::PLACE), arrived + warp * STAGES,
                  static_cast<int>(column), static_cast<int>(block.row)};
  if (threadIdx.x % 32 == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      hopper::make_barrier(hopper::shared_address(ring.arrived + stage), 1);
    }
    hopper::publish_barriers();
  }
  __syncwarp();
  stencil_detail::walk_down<T, Ring::VEC, RADIUS, BOX, GROUP, STAGES, Ring::PITCH, STREAM>(
      ring, out, column, block.row, m, n, rows);
}
