// Three-dimensional stencil by warps that walk through the planes with all they need in registers,
// one or several steps at a time.
//
//   out = in after STEPS times
//   out[z][y][x] = sum over i, j, k from -RADIUS to RADIUS of w[i][j][k] * in[z + i][y + j][x + k]
//
//   in, out, w: as in stencil3d_naive.cu
//
// A thread has VEC columns and ROWS rows, and gets the columns beside its own from the threads that
// hold them, by shuffles. It reads the rows above and below them itself, as neighboring warps do,
// from the L1 cache at best. A plane that a step completes is at once the next plane that the
// following step reads: stencil2d_registers.cu has the picture. A step needs RADIUS rows more
// above and below than the one after it, so that the first ones compute rows that neighboring
// warps compute, too. The first and the last threads of a warp lack neighbors, and what they
// compute is wrong: they write nothing, and the columns of neighboring warps overlap.
//
// Template parameters
//   T        element type                     float, double
//   RADIUS   of the problem                   1 .. 4
//   BOX      of the problem                   0: star, 1: box
//   VEC      elements of an access            1, 2, 4; it divides n
//   ROWS     rows of a thread                 1 .. 8
//   STEPS    that are done at once            1 ..
//   WARPS    of a block, below each other     1 .. 16
//   AHEAD    planes that are read ahead       1, 2
//   STREAM   1: what is written is not kept in caches
//
// Arguments        planes: of out that a warp computes
// Constraints      VEC * sizeof(T) <= 16; with HALO = STEPS * RADIUS rounded up to VEC, a warp
//                  writes OWN = 32 * VEC - 2 * HALO columns, one or more
// Block            32 * WARPS threads
// Grid             ceil(n / OWN) * ceil(m / (WARPS * ROWS)) * ceil(l / planes) blocks
// Shared memory    none
// Memory traffic   2 * l * m * n * sizeof(T) bytes at least; 2 * STEPS * RADIUS planes more for
//                  each block

#include "plane_sums.cuh"

namespace stencil_detail {

/// A thread's points that lie in the volume.
struct PointsInside {
  unsigned
      rows;  ///< Bit i: of row i, counted from the first one that is read. 0 beside the volume.
  int low;   ///< First plane, and the one behind the last, counted from the block's first.
  int high;

  __device__ __forceinline__ bool at(int plane, int row) const {
    return plane >= low && plane < high && (rows >> row & 1u) != 0;
  }
};

/// STEPS steps, whose result has ROWS rows. BEFORE is the number of rows above and below that
/// earlier steps needed.
template <typename T, int VEC, int ROWS, int RADIUS, int BOX, int STEPS, int BEFORE = 0>
class PlaneSteps {
 public:
  static constexpr int MORE = RADIUS * (STEPS - 1);  ///< Rows that later steps need.

  /// Takes a plane and calls store(plane, rows) with what it completes after the last step.
  template <typename Store>
  __device__ __forceinline__ void add(const Piece<T, VEC> (&plane)[ROWS + 2 * RADIUS * STEPS],
                                      int number, const PointsInside& inside, const Store& store) {
    constexpr int COUNT = ROWS + 2 * MORE;
    Window<T, VEC, RADIUS> windows[COUNT + 2 * RADIUS];
#pragma unroll
    for (int row = 0; row < COUNT + 2 * RADIUS; ++row) {
      windows[row] = sums_.is_alone(row) ? window_alone<RADIUS>(plane[row])
                                         : window_of_warp<RADIUS>(plane[row]);
    }
    Piece<T, VEC> done[COUNT];
    sums_.add(windows, done);
    if constexpr (STEPS == 1) {
      store(number - RADIUS, done);
    } else {
#pragma unroll
      for (int row = 0; row < COUNT; ++row) {
        // The next step finds 0 outside of the volume.
        if (!inside.at(number - RADIUS, BEFORE + RADIUS + row)) done[row] = {};
      }
      later_.add(done, number - RADIUS, inside, store);
    }
  }

 private:
  struct Nothing {};
  template <int COUNT, typename = void>
  struct Later {
    using Type = PlaneSteps<T, VEC, ROWS, RADIUS, BOX, COUNT, BEFORE + RADIUS>;
  };
  template <typename Unused>
  struct Later<0, Unused> {
    using Type = Nothing;
  };
  PlaneSums<T, VEC, ROWS + 2 * MORE, RADIUS, BOX> sums_;
  typename Later<STEPS - 1>::Type later_;
};

}  // namespace stencil_detail

template <typename T, int RADIUS, int BOX, int VEC, int ROWS, int STEPS, int WARPS, int AHEAD,
          int STREAM>
__global__ void __launch_bounds__(32 * WARPS)
    stencil3d_registers(const T* __restrict__ in, T* __restrict__ out, long long l, long long m,
                        long long n, int planes) {
  static_assert(RADIUS >= 1 && RADIUS <= 4, "there are weights for radius 1 to 4");
  using Piece = stencil_detail::Piece<T, VEC>;
  constexpr int REACH = STEPS * RADIUS;
  constexpr int HALO = stencil_detail::kHalo<REACH, VEC>;
  constexpr int OWN = 32 * VEC - 2 * HALO;
  constexpr int READ = ROWS + 2 * REACH;
  static_assert(OWN > 0, "a warp must write a column or more");
  static_assert(READ <= 32, "a bit for each row");
  const stencil_detail::BlockOfPlanes block(m, n, OWN, WARPS * ROWS, planes);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const long long column = block.column - HALO + lane * VEC;
  const long long row = block.row + static_cast<int>(threadIdx.x) / 32 * ROWS;
  const bool beside = column < 0 || column >= n;
  const bool writes = !beside && lane * VEC >= HALO && lane * VEC < HALO + OWN;

  stencil_detail::PointsInside inside = {0, 0, 0};
#pragma unroll
  for (int i = 0; i < READ; ++i) {
    const long long y = row - REACH + i;
    if (!beside && y >= 0 && y < m) inside.rows |= 1u << i;
  }
  inside.low = -static_cast<int>(min(static_cast<long long>(REACH), block.plane));
  inside.high = static_cast<int>(min(static_cast<long long>(planes + REACH), l - block.plane));
  const int count = static_cast<int>(min(static_cast<long long>(planes), l - block.plane));

  const long long size = m * n;
  const T* from = in + (block.plane - REACH) * size + (row - REACH) * n + column;
  T* to = out + (block.plane - 2 * REACH) * size + row * n + column;
  const auto load = [&](int plane, Piece(&pieces)[READ]) {
#pragma unroll
    for (int i = 0; i < READ; ++i) {
      pieces[i] = {};
      if (inside.at(plane, i)) pieces[i] = *reinterpret_cast<const Piece*>(from + i * n);
    }
    from += size;
  };
  const auto store = [&](int plane, const Piece(&done)[ROWS]) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      if (writes && plane >= 0 && plane < count && row + i < m) {
        stencil_detail::store_piece<STREAM>(to + i * n, done[i]);
      }
    }
    to += size;
  };

  Piece next[AHEAD][READ];
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) load(i - REACH, next[i]);
  stencil_detail::PlaneSteps<T, VEC, ROWS, RADIUS, BOX, STEPS> steps;
  for (int first = -REACH; first < count + REACH; first += AHEAD) {
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      Piece plane[READ];
#pragma unroll
      for (int j = 0; j < READ; ++j) plane[j] = next[i][j];
      load(first + i + AHEAD, next[i]);
      steps.add(plane, first + i, inside, store);
    }
  }
}
