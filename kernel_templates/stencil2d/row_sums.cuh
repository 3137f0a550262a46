// Stencils of two dimensions row by row: each row is read once and added to the sums of all rows
// that it serves.

#pragma once

#include "../common/stencil.cuh"

namespace stencil_detail {

/// The sums, in VEC columns, of the 2 * RADIUS + 1 rows that the last row has served.
///
///   row y comes     sum[0], of row y + RADIUS,     begins with row y * first row of weights
///                   sum[1], of row y + RADIUS - 1  += row y * second row of weights
///                   ...
///                   the last one, of row y - RADIUS, is complete
///
/// With the next row every sum moves on by one place, which costs nothing: its first multiply-add
/// reads the one register and writes the other.
template <typename T, int VEC, int RADIUS, int BOX>
class RowSums {
 public:
  /// Adds a row and returns the one that it completes.
  __device__ __forceinline__ Piece<T, VEC> add(const Window<T, VEC, RADIUS>& row) {
    constexpr int WIDTH = 2 * RADIUS + 1;
#pragma unroll
    for (int i = WIDTH - 1; i >= 0; --i) {
#pragma unroll
      for (int j = 0; j < VEC; ++j) {
        T sum = i > 0 ? sum_[i - 1].element[j] : T(0);
        const auto add = [&](int k) { sum += weight<T>(i * WIDTH + k) * row.element[j + k]; };
        if (BOX != 0 || i == RADIUS) {
#pragma unroll
          for (int k = 0; k < WIDTH; ++k) add(k);
        } else {
          add(RADIUS);
        }
        sum_[i].element[j] = sum;
      }
    }
    return sum_[WIDTH - 1];
  }

 private:
  Piece<T, VEC> sum_[2 * RADIUS + 1] = {};
};

/// Where blocks of `columns` columns and `rows` rows lie; one after the other fills the rows.
struct BlockOfRows {
  long long column;
  long long row;

  __device__ __forceinline__ BlockOfRows(long long n, int columns, int rows) {
    const auto across = static_cast<unsigned>((n + columns - 1) / columns);
    column = static_cast<long long>(blockIdx.x % across) * columns;
    row = static_cast<long long>(blockIdx.x / across) * rows;
  }
};

/// Computes up to `rows` rows of 32 * VEC columns, from `column` and `row` on, whose rows come to a
/// ring in the shared memory of this warp, GROUP at a time. The ring has start(group), which asks
/// for rows GROUP * group - RADIUS to ... + GROUP - 1 after the first, and wait(group), which
/// returns where column 0 of these lies. PITCH is from one row to the next.
template <typename T, int VEC, int RADIUS, int BOX, int GROUP, int STAGES, int PITCH, int STREAM,
          typename Ring>
__device__ __forceinline__ void walk_down(const Ring& ring, T* out, long long column, long long row,
                                          long long m, long long n, int rows) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int count = static_cast<int>(min(static_cast<long long>(rows), m - row));
  const int groups = (count + 2 * RADIUS + GROUP - 1) / GROUP;
  const bool writes = column + lane * VEC < n;
  T* to = out + (row - 2 * RADIUS) * n + column + lane * VEC;
  RowSums<T, VEC, RADIUS, BOX> sums;
#pragma unroll
  for (int group = 0; group < STAGES - 1; ++group) ring.start(group, groups);
  for (int group = 0; group < groups; ++group) {
    const T* const from = ring.wait(group) + lane * VEC;
    ring.start(group + STAGES - 1, groups);
#pragma unroll
    for (int i = 0; i < GROUP; ++i) {
      const Piece<T, VEC> sum = sums.add(window_of_shared<RADIUS, VEC>(from + i * PITCH));
      const int ready = group * GROUP + i - 2 * RADIUS;
      if (writes && ready >= 0 && ready < count) store_piece<STREAM>(to, sum);
      to += n;
    }
  }
}

}  // namespace stencil_detail
