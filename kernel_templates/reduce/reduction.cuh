// What rows are reduced to - sum, largest element, or its index - and how threads do it together.
//
// A reduction is a type with
//   Element   of the rows
//   Value     what elements are reduced to; none(): of no elements, both(): of those of two values
//   Gathered  a value that grows in a thread's registers; gather(): without any element yet, add():
//             with an element more, whose index is above those before it, add_all(): with those of
//             COUNT pieces of VEC elements, `step` apart; whole(): as a Value
//   Array     of values in global memory
//
// Indices of a Gathered are ints and count from an element that the thread knows.

#pragma once

#include "../common/hopper.cuh"  // element_types.cuh, too

namespace reduce_detail {

// Elements as they are added up and compared.
__device__ __forceinline__ float number(float x) { return x; }
__device__ __forceinline__ double number(double x) { return x; }
__device__ __forceinline__ int number(int x) { return x; }
__device__ __forceinline__ long long number(long long x) { return x; }
__device__ __forceinline__ int number(signed char x) { return x; }
__device__ __forceinline__ float number(__half x) { return element(&x, 0); }
__device__ __forceinline__ float number(__nv_bfloat16 x) { return element(&x, 0); }

// Below which no number lies.
template <typename Number>
__device__ __forceinline__ Number lowest();
template <>
__device__ __forceinline__ float lowest() {
  return __uint_as_float(0xff800000u);
}
template <>
__device__ __forceinline__ double lowest() {
  return -static_cast<double>(__uint_as_float(0x7f800000u));
}
template <>
__device__ __forceinline__ int lowest() {
  return -2147483647 - 1;
}
template <>
__device__ __forceinline__ long long lowest() {
  return -9223372036854775807LL - 1;
}

/// A sum, or with LARGEST the largest element, which is not a NaN unless all are. Integers wrap
/// around.
template <typename T, typename Number, int LARGEST>
struct ToNumber {
  using Element = T;
  using Value = Number;

  static __device__ __forceinline__ Value none() {
    if constexpr (LARGEST != 0) {
      return lowest<Number>();
    } else {
      return Number(0);
    }
  }
  static __device__ __forceinline__ Value both(Value a, Value b) {
    if constexpr (LARGEST != 0) {
      return max(a, b);
    } else if constexpr (is_same<Number, int>) {
      return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
    } else if constexpr (is_same<Number, long long>) {
      return static_cast<long long>(static_cast<unsigned long long>(a) +
                                    static_cast<unsigned long long>(b));
    } else {
      return a + b;
    }
  }

  /// The value of elements FIRST to FIRST + COUNT - 1 of pieces: two halves first, as the errors of a
  /// long sum grow with the number of additions that an element takes part in.
  template <int VEC, int FIRST, int COUNT, typename Piece>
  static __device__ __forceinline__ Value of(const Piece* piece) {
    if constexpr (COUNT == 1) {
      return static_cast<Number>(number(piece[FIRST / VEC].element[FIRST % VEC]));
    } else {
      constexpr int HALF = COUNT / 2;
      return both(of<VEC, FIRST, HALF>(piece), of<VEC, FIRST + HALF, COUNT - HALF>(piece));
    }
  }

  using Gathered = Value;
  static __device__ __forceinline__ Gathered gather(int /*first*/) { return none(); }
  static __device__ __forceinline__ void add(Gathered& value, T element, int /*index*/) {
    value = both(value, static_cast<Number>(number(element)));
  }
  template <int VEC, int COUNT, typename Piece>
  static __device__ __forceinline__ void add_all(Gathered& value, const Piece (&piece)[COUNT],
                                                 int /*index*/, int /*step*/) {
    value = both(value, of<VEC, 0, VEC * COUNT>(piece));
  }
  static __device__ __forceinline__ Value whole(Gathered value, long long /*before*/) {
    return value;
  }

  static __device__ __forceinline__ Value from_lane(Value value, int distance, int width) {
    return __shfl_down_sync(0xffffffffu, value, distance, width);
  }

  struct Array {
    Number* number;

    __device__ __forceinline__ Value get(long long i) const { return __ldcg(number + i); }
    __device__ __forceinline__ void set(long long i, Value value) const { number[i] = value; }
  };
};

/// The largest element and its index, of equal ones the first; anything where there are NaNs.
template <typename T, typename Number>
struct ToIndex {
  using Element = T;
  /// Without padding, which copies would read though nobody has written it.
  struct Value {
    Number number;
    unsigned low;  // Halves of the index, which is -1 of no elements.
    int high;

    __device__ __forceinline__ long long index() const {
      return static_cast<long long>(high) << 32 | low;
    }
  };

  static __device__ __forceinline__ Value value_of(Number number, long long index) {
    return {number, static_cast<unsigned>(index), static_cast<int>(index >> 32)};
  }
  static __device__ __forceinline__ Value none() { return value_of(lowest<Number>(), -1); }
  static __device__ __forceinline__ Value both(const Value& a, const Value& b) {
    const bool is_b = b.high >= 0 && (a.high < 0 || b.number > a.number ||
                                      (b.number == a.number && b.index() < a.index()));
    return is_b ? b : a;
  }

  struct Gathered {
    Number number;
    int index;
  };
  /// `first`: the index of the first element that will be added, -1 where none will.
  static __device__ __forceinline__ Gathered gather(int first) { return {lowest<Number>(), first}; }
  static __device__ __forceinline__ void add(Gathered& value, T element, int index) {
    const Number x = static_cast<Number>(number(element));
    if (x > value.number) value = {x, index};
  }
  template <int VEC, int COUNT, typename Piece>
  static __device__ __forceinline__ void add_all(Gathered& value, const Piece (&piece)[COUNT],
                                                 int index, int step) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
#pragma unroll
      for (int e = 0; e < VEC; ++e) add(value, piece[i].element[e], index + i * step + e);
    }
  }
  static __device__ __forceinline__ Value whole(Gathered value, long long before) {
    return value_of(value.number, value.index < 0 ? -1 : before + value.index);
  }

  static __device__ __forceinline__ Value from_lane(const Value& value, int distance, int width) {
    return {__shfl_down_sync(0xffffffffu, value.number, distance, width),
            __shfl_down_sync(0xffffffffu, value.low, distance, width),
            __shfl_down_sync(0xffffffffu, value.high, distance, width)};
  }

  struct Array {
    Number* number;
    long long* index;

    __device__ __forceinline__ Value get(long long i) const {
      return value_of(__ldcg(number + i), __ldcg(index + i));
    }
    __device__ __forceinline__ void set(long long i, const Value& value) const {
      number[i] = value.number;
      index[i] = value.index();
    }
  };
};

}  // namespace reduce_detail
