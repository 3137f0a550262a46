// Two-dimensional stencil by warps that walk down the matrix with all they need in registers, one
// or several steps at a time.
//
//   out = in after STEPS times
//   out[y][x] = sum over i, j from -RADIUS to RADIUS of w[i][j] * in[y + i][x + j]
//
//   in, out, w: as in stencil2d_naive.cu
//
// A thread has VEC columns, and gets those beside them from the threads that hold them, by
// shuffles. A row that a step completes is at once the next row that the following step reads:
//
//   in                    row y          read, AHEAD rows before it is needed
//   after the first step  row y - RADIUS
//   ...
//   after the last one    row y - STEPS * RADIUS: written
//
// so that in is read and out written once for STEPS steps, and no thread waits for another warp.
// The first and the last threads of a warp lack neighbors, and what they compute is wrong: they
// write nothing, and the columns of neighboring warps overlap.
//
// Template parameters
//   T        element type                         float, double
//   RADIUS   of the problem                       1 .. 4
//   BOX      of the problem                       0: star, 1: box
//   VEC      elements of an access                1, 2, 4; it divides n
//   STEPS    that are done at once                1 ..
//   WARPS    of a block, beside each other        1 .. 16
//   AHEAD    rows that are read ahead             1 .. 16
//   STREAM   1: what is written is not kept in caches
//
// Arguments        rows: of out that a warp computes
// Constraints      VEC * sizeof(T) <= 16; with HALO = STEPS * RADIUS rounded up to VEC, a warp
//                  writes OWN = 32 * VEC - 2 * HALO columns, one or more
// Block            32 * WARPS threads
// Grid             ceil(n / (WARPS * OWN)) * ceil(m / rows) blocks
// Shared memory    none
// Memory traffic   2 * m * n * sizeof(T) bytes at least; 2 * STEPS * RADIUS rows more for each warp

#include "row_sums.cuh"

template <typename T, int RADIUS, int BOX, int VEC, int STEPS, int WARPS, int AHEAD, int STREAM>
__global__ void __launch_bounds__(32 * WARPS)
    stencil2d_registers(const T* __restrict__ in, T* __restrict__ out, long long m, long long n,
                        int rows) {
  static_assert(RADIUS >= 1 && RADIUS <= 4, "there are weights for radius 1 to 4");
  using Piece = stencil_detail::Piece<T, VEC>;
  constexpr int REACH = STEPS * RADIUS;
  constexpr int HALO = stencil_detail::kHalo<REACH, VEC>;
  constexpr int OWN = 32 * VEC - 2 * HALO;
  static_assert(OWN > 0, "a warp must write a column or more");
  const stencil_detail::BlockOfRows block(n, WARPS * OWN, rows);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const long long column = block.column + warp * OWN - HALO + lane * VEC;
  const bool inside = column >= 0 && column < n;
  const bool writes = inside && lane * VEC >= HALO && lane * VEC < HALO + OWN;

  // Rows are counted from the block's first one; those of the matrix are from `low` on below
  // `high`.
  const int count = static_cast<int>(min(static_cast<long long>(rows), m - block.row));
  const int low = -static_cast<int>(min(static_cast<long long>(REACH), block.row));
  const int high = static_cast<int>(min(static_cast<long long>(rows + REACH), m - block.row));
  const T* from = in + (block.row - REACH) * n + column;
  T* to = out + (block.row - 2 * REACH) * n + column;
  const auto load = [&](int row) {
    Piece piece = {};
    if (inside && row >= low && row < high) piece = *reinterpret_cast<const Piece*>(from);
    from += n;
    return piece;
  };

  Piece next[AHEAD];
#pragma unroll
  for (int i = 0; i < AHEAD; ++i) next[i] = load(i - REACH);
  stencil_detail::RowSums<T, VEC, RADIUS, BOX> sums[STEPS];
  for (int first = -REACH; first < count + REACH; first += AHEAD) {
#pragma unroll
    for (int i = 0; i < AHEAD; ++i) {
      Piece piece = next[i];
      next[i] = load(first + i + AHEAD);
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        piece = sums[step].add(stencil_detail::window_of_warp<RADIUS>(piece));
        const int row = first + i - (step + 1) * RADIUS;
        if (step + 1 == STEPS) {
          if (writes && row >= 0 && row < count) stencil_detail::store_piece<STREAM>(to, piece);
        } else if (!inside || row < low || row >= high) {
          piece = {};  // The next step finds 0 outside of the matrix.
        }
      }
      to += n;
    }
  }
}
