// What stencils of two and three dimensions share: their weights, and pieces of rows with the
// neighbors of these.

#pragma once

#include "write_once.cuh"

/// Weights of all points of a square or a cube of 2 * RADIUS + 1, the innermost dimension last, as
/// elements of the stencil's type: up to 729. Those off the axes belong to boxes only.
__constant__ __align__(16) unsigned char stencil_weights[729 * 8];

namespace stencil_detail {

/// Weight i. The kernels ask for places that the compiler knows: the weight is then an operand of
/// its multiply-add, and takes neither a load nor a register.
template <typename T>
__device__ __forceinline__ T weight(int i) {
  return reinterpret_cast<const T*>(stencil_weights)[i];
}

/// VEC elements of a row, read and written at once.
template <typename T, int VEC>
struct alignas(VEC * sizeof(T)) Piece {
  static_assert(VEC * sizeof(T) <= 16, "an access has at most 16 bytes");
  T element[VEC];
};

/// Elements beside a piece that must be there for RADIUS neighbors, in whole pieces.
template <int RADIUS, int VEC>
constexpr int kHalo = (RADIUS + VEC - 1) / VEC* VEC;

/// A piece with RADIUS neighbors on either side.
template <typename T, int VEC, int RADIUS>
struct Window {
  T element[VEC + 2 * RADIUS];
};

/// The window of a piece whose neighbors nobody asks for.
template <int RADIUS, typename T, int VEC>
__device__ __forceinline__ Window<T, VEC, RADIUS> window_alone(const Piece<T, VEC>& own) {
  Window<T, VEC, RADIUS> window;
#pragma unroll
  for (int i = 0; i < VEC; ++i) window.element[RADIUS + i] = own.element[i];
  return window;
}

/// The window around `own` in the row whose pieces the lanes of a warp hold. Elements beyond the
/// ends of the warp's part of the row are any.
template <int RADIUS, typename T, int VEC>
__device__ __forceinline__ Window<T, VEC, RADIUS> window_of_warp(const Piece<T, VEC>& own) {
  Window<T, VEC, RADIUS> window = window_alone<RADIUS>(own);
#pragma unroll
  for (int distance = 1; distance <= RADIUS; ++distance) {
    const int lanes = (distance + VEC - 1) / VEC;
    window.element[RADIUS - distance] =
        __shfl_up_sync(0xffffffffu, own.element[lanes * VEC - distance], lanes);
    window.element[RADIUS + VEC - 1 + distance] =
        __shfl_down_sync(0xffffffffu, own.element[(distance - 1) % VEC], lanes);
  }
  return window;
}

/// The window around the piece at `own` in shared memory, beside which there are kHalo elements.
template <int RADIUS, int VEC, typename T>
__device__ __forceinline__ Window<T, VEC, RADIUS> window_of_shared(const T* own) {
  constexpr int HALO = kHalo<RADIUS, VEC>;
  Piece<T, VEC> pieces[1 + 2 * HALO / VEC];
#pragma unroll
  for (int i = 0; i < 1 + 2 * HALO / VEC; ++i) {
    pieces[i] = *reinterpret_cast<const Piece<T, VEC>*>(own - HALO + i * VEC);
  }
  Window<T, VEC, RADIUS> window;
#pragma unroll
  for (int i = 0; i < VEC + 2 * RADIUS; ++i) {
    const int at = HALO - RADIUS + i;
    window.element[i] = pieces[at / VEC].element[at % VEC];
  }
  return window;
}

/// Stores a piece; with STREAM the caches give it up first.
template <int STREAM, typename T, int VEC>
__device__ __forceinline__ void store_piece(T* to, const Piece<T, VEC>& piece) {
  if constexpr (STREAM != 0) {
    write_once(reinterpret_cast<Piece<T, VEC>*>(to), piece);
  } else {
    *reinterpret_cast<Piece<T, VEC>*>(to) = piece;
  }
}

}  // namespace stencil_detail
