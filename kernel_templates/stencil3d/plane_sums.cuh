// Stencils of three dimensions plane by plane: each plane is read once and added to the sums of all
// planes that it serves.

#pragma once

#include "../common/stencil.cuh"

namespace stencil_detail {

/// The sums, in VEC columns and ROWS rows, of the 2 * RADIUS + 1 planes that the last plane has
/// served. Planes come as rows do to RowSums (stencil2d/row_sums.cuh).
template <typename T, int VEC, int ROWS, int RADIUS, int BOX>
class PlaneSums {
 public:
  /// Adds a plane, of which it takes RADIUS rows more above and below, and sets `done` to the plane
  /// that it completes. The windows of these rows need no neighbors where the stencil is a star.
  __device__ __forceinline__ void add(const Window<T, VEC, RADIUS> (&plane)[ROWS + 2 * RADIUS],
                                      Piece<T, VEC> (&done)[ROWS]) {
    constexpr int WIDTH = 2 * RADIUS + 1;
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
#pragma unroll
      for (int i = WIDTH - 1; i >= 0; --i) {
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          T sum = i > 0 ? sum_[i - 1][row].element[e] : T(0);
          const auto add = [&](int j, int k) {
            sum += weight<T>((i * WIDTH + j) * WIDTH + k) * plane[row + j].element[e + k];
          };
          if constexpr (BOX != 0) {
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) {
#pragma unroll
              for (int k = 0; k < WIDTH; ++k) add(j, k);
            }
          } else {
            add(RADIUS, RADIUS);
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) {
              if (i != RADIUS || j == RADIUS) continue;
              add(j, RADIUS);
              add(RADIUS, j);
            }
          }
          sum_[i][row].element[e] = sum;
        }
      }
      done[row] = sum_[WIDTH - 1][row];
    }
  }

  /// Whether only the elements of row `row` count, and none beside them.
  static __device__ __forceinline__ constexpr bool is_alone(int row) {
    return BOX == 0 && (row < RADIUS || row >= ROWS + RADIUS);
  }

 private:
  Piece<T, VEC> sum_[2 * RADIUS + 1][ROWS] = {};
};

/// Where blocks of `columns` columns, `rows` rows and `planes` planes lie; one after the other
/// fills the rows, then the planes.
struct BlockOfPlanes {
  long long column;
  long long row;
  long long plane;

  __device__ __forceinline__ BlockOfPlanes(long long m, long long n, int columns, int rows,
                                           int planes) {
    const auto across = static_cast<unsigned>((n + columns - 1) / columns);
    const auto down = static_cast<unsigned>((m + rows - 1) / rows);
    column = static_cast<long long>(blockIdx.x % across) * columns;
    row = static_cast<long long>(blockIdx.x / across % down) * rows;
    plane = static_cast<long long>(blockIdx.x / across / down) * planes;
  }
};

/// The tile of a block of ACROSS x DOWN threads with VEC x ROWS points each, and of its planes with
/// all neighbors.
template <typename T, int VEC, int RADIUS, int ACROSS, int DOWN, int ROWS>
struct Tile {
  static constexpr int HALO = kHalo<RADIUS, VEC>;
  static constexpr int COLUMNS = ACROSS * VEC;
  static constexpr int PITCH = COLUMNS + 2 * HALO;
  static constexpr int HEIGHT = DOWN * ROWS + 2 * RADIUS;
};

/// Computes up to `planes` planes of a block's tile, which come to a ring in shared memory one by
/// one. The ring has start(i, count), which asks for plane i - RADIUS after the first, and wait(i),
/// a barrier of the block after which it is there and nobody reads the one before it. It returns
/// where the tile's first point lies.
template <typename T, int VEC, int RADIUS, int BOX, int ACROSS, int DOWN, int ROWS, int STAGES,
          int STREAM, typename Ring>
__device__ __forceinline__ void walk_through(const Ring& ring, T* out, const BlockOfPlanes& block,
                                             long long l, long long m, long long n, int planes) {
  constexpr int PITCH = Tile<T, VEC, RADIUS, ACROSS, DOWN, ROWS>::PITCH;
  const int count = static_cast<int>(min(static_cast<long long>(planes), l - block.plane));
  const int x = static_cast<int>(threadIdx.x) * VEC;
  const int y = static_cast<int>(threadIdx.y) * ROWS;
  const bool inside = block.column + x < n;
  const int rows = static_cast<int>(min(static_cast<long long>(ROWS), m - block.row - y));
  T* to = out + ((block.plane - 2 * RADIUS) * m + block.row + y) * n + block.column + x;
  PlaneSums<T, VEC, ROWS, RADIUS, BOX> sums;
#pragma unroll
  for (int plane = 0; plane < STAGES - 1; ++plane) ring.start(plane, count + 2 * RADIUS);
  for (int plane = 0; plane < count + 2 * RADIUS; ++plane) {
    const T* const from = ring.wait(plane) + (y - RADIUS) * PITCH + x;
    ring.start(plane + STAGES - 1, count + 2 * RADIUS);
    Window<T, VEC, RADIUS> windows[ROWS + 2 * RADIUS];
#pragma unroll
    for (int row = 0; row < ROWS + 2 * RADIUS; ++row) {
      if (sums.is_alone(row)) {
        windows[row] =
            window_alone<RADIUS>(*reinterpret_cast<const Piece<T, VEC>*>(from + row * PITCH));
      } else {
        windows[row] = window_of_shared<RADIUS, VEC>(from + row * PITCH);
      }
    }
    Piece<T, VEC> done[ROWS];
    sums.add(windows, done);
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      if (inside && row < rows && plane >= 2 * RADIUS) {
        store_piece<STREAM>(to + row * n, done[row]);
      }
    }
    to += m * n;
  }
}

}  // namespace stencil_detail
