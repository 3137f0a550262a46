// A row of a matrix whose elements are spread over the registers of several threads.

#pragma once

#include "../common/hopper.cuh"  // element_types.cuh, too
#include "../common/read_once.cuh"
#include "../common/write_once.cuh"

namespace normalize_detail {

__device__ __forceinline__ float number(float x) { return x; }
__device__ __forceinline__ float number(__nv_bfloat16 x) { return element(&x, 0); }
__device__ __forceinline__ float number(__half x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float converted;
  asm("cvt.f32.f16 %0, %1;" : "=f"(converted) : "h"(x.bits));
  return converted;
#else
  return element(&x, 0);
#endif
}

template <typename T, int BYTES>
struct alignas(BYTES) Piece {
  static constexpr int kElements = BYTES / static_cast<int>(sizeof(T));
  T element[kElements];
};

/// Sets a piece to numbers, rounded.
template <typename T, int BYTES>
__device__ __forceinline__ void set_piece(Piece<T, BYTES>& piece,
                                          const float (&value)[Piece<T, BYTES>::kElements]) {
  constexpr int VEC = Piece<T, BYTES>::kElements;
#pragma unroll
  for (int e = 0; e < VEC; e += sizeof(T) == 2 ? 2 : 1) {
    if constexpr (sizeof(T) == 2) {
      const unsigned two = pack<T>(value[e], value[e + 1]);
      piece.element[e].bits = static_cast<unsigned short>(two);
      piece.element[e + 1].bits = static_cast<unsigned short>(two >> 16);
    } else {
      piece.element[e] = value[e];
    }
  }
}

/// A row of n elements, or a part of it, of which each of LANES threads holds ITEMS pieces of BYTES
/// bytes. Pieces lie at multiples of BYTES in memory. With WHOLE the row begins and ends at such
/// multiples; else its first and last pieces are read and written element by element. These are among
/// the first and the last two of ITEMS, if ITEMS is no more than the row needs, or with ANYWHERE among
/// all.
template <typename T, int BYTES, int LANES, int ITEMS, int WHOLE, bool ANYWHERE = false>
class HeldRow {
 public:
  static constexpr int VEC = Piece<T, BYTES>::kElements;

  /// Thread `lane`'s pieces of the row of n elements at `row`, from piece `begin` on.
  __device__ __forceinline__ HeldRow(const T* row, int n, int lane, int begin)
      : n_(n), first_((begin + lane) * VEC) {
    if constexpr (WHOLE == 0) {
      first_ -= static_cast<int>(reinterpret_cast<unsigned long long>(row) / sizeof(T) % VEC);
    }
  }

  template <int STREAM>
  __device__ __forceinline__ void load(const T* row) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int j = index(item);
      if (is_whole(j)) {
        const auto* const from = reinterpret_cast<const Piece<T, BYTES>*>(row + j);
        if constexpr (STREAM != 0) {
          piece_[item] = read_once(from);
        } else {
          piece_[item] = *from;
        }
      } else if (may_be_edge(item)) {
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          if (is_inside(j + e)) piece_[item].element[e] = row[j + e];
        }
      }
    }
  }

  /// Calls visit(x) for every element that this thread holds.
  template <typename Visit>
  __device__ __forceinline__ void for_each(const Visit& visit) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int j = index(item);
      if (!may_be_edge(item) && !is_whole(j)) continue;
#pragma unroll
      for (int e = 0; e < VEC; ++e) {
        if (!may_be_edge(item) || is_inside(j + e)) visit(number(piece_[item].element[e]));
      }
    }
  }

  /// Stores what `operation` makes of the elements.
  template <int STREAM, typename Operation>
  __device__ __forceinline__ void store(T* row, const Operation& operation) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int j = index(item);
      float value[VEC];
#pragma unroll
      for (int e = 0; e < VEC; ++e) value[e] = number(piece_[item].element[e]);
      if (is_whole(j)) {
        operation.template apply<BYTES, WHOLE>(value, j);
        Piece<T, BYTES> piece;
        set_piece(piece, value);
        auto* const to = reinterpret_cast<Piece<T, BYTES>*>(row + j);
        if constexpr (STREAM != 0) {
          write_once(to, piece);
        } else {
          *to = piece;
        }
      } else if (may_be_edge(item)) {
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          if (is_inside(j + e)) set_element(row, j + e, operation.applied(value[e], j + e));
        }
      }
    }
  }

 private:
  static __device__ __forceinline__ constexpr bool may_be_edge(int item) {
    return WHOLE == 0 && (ANYWHERE || item == 0 || item >= ITEMS - 2);
  }
  __device__ __forceinline__ int index(int item) const { return first_ + item * LANES * VEC; }
  __device__ __forceinline__ bool is_inside(int j) const {
    return static_cast<unsigned>(j) < static_cast<unsigned>(n_);
  }
  __device__ __forceinline__ bool is_whole(int j) const {
    return WHOLE != 0 ? j < n_ : j >= 0 && j + VEC <= n_;
  }

  int n_;
  int first_;  ///< Index in the row of the first element, which may be negative.
  Piece<T, BYTES> piece_[ITEMS] = {};
};

}  // namespace normalize_detail
