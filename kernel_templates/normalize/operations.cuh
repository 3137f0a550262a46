// The operations on the rows of a matrix: softmax, RMS norm, layer norm.
//
// An operation is a type with
//   kNumbers    how many numbers it needs to know of a row, after which it is applied
//   Numbers     these; none(): of no elements, gathered(): of those that a thread holds of a row,
//               both(): of those of two Numbers
//   know()      takes the numbers of the whole row
//   learn()     finds the numbers itself, with two reductions of one number each, instead of one
//               reduction of Numbers
//   applied()   what becomes of an element; apply(): of all elements of a piece

#pragma once

#include "held_row.cuh"

namespace normalize_detail {

constexpr float kEpsilon = 1e-5f;

template <int COUNT>
struct NumbersOf {
  float of[COUNT];
};

__device__ __forceinline__ NumbersOf<1> one(float x) { return {{x}}; }

struct Add {
  static __device__ __forceinline__ NumbersOf<1> none() { return {{0.0f}}; }
  static __device__ __forceinline__ NumbersOf<1> both(NumbersOf<1> a, NumbersOf<1> b) {
    return {{a.of[0] + b.of[0]}};
  }
};

/// Below which only minus infinity lies; other than that, it may be subtracted from itself.
constexpr float kLowest = -3.402823466e38f;

struct Largest {
  static __device__ __forceinline__ NumbersOf<1> none() { return {{kLowest}}; }
  static __device__ __forceinline__ NumbersOf<1> both(NumbersOf<1> a, NumbersOf<1> b) {
    return {{fmaxf(a.of[0], b.of[0])}};
  }
};

constexpr float kLog2OfE = 1.44269504088896341f;

/// 2 to the power of x, off by 2^-22 of itself at most; 0 where that is less than 2^-126.
__device__ __forceinline__ float power_of_2(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return exp2f(x);
#endif
}

/// exp(x - largest) over the sum of these of the row. Powers are of 2, and in all of them `largest` times
/// log2(e) is rounded alike, so that its error cancels.
template <typename T>
struct Softmax {
  static constexpr int kNumbers = 2;
  using Numbers = NumbersOf<2>;  ///< The largest element; the sum of exp(x - largest).

  static __device__ __forceinline__ Numbers none() { return {{kLowest, 0.0f}}; }
  static __device__ __forceinline__ Numbers both(Numbers a, Numbers b) {
    const float largest = fmaxf(a.of[0], b.of[0]);
    return {{largest, a.of[1] * power_of_2((a.of[0] - largest) * kLog2OfE) +
                          b.of[1] * power_of_2((b.of[0] - largest) * kLog2OfE)}};
  }
  template <typename Row>
  static __device__ __forceinline__ Numbers gathered(const Row& row) {
    const float largest = largest_of(row);
    return {{largest, sum_of(row, largest)}};
  }
  __device__ __forceinline__ void know(Numbers numbers, int /*n*/) {
    largest = numbers.of[0];
    scale = 1.0f / numbers.of[1];
  }
  template <typename Row, typename Team>
  __device__ __forceinline__ void learn(const Row& row, Team& team, int /*n*/) {
    largest = team.template reduced<Largest, 0>(one(largest_of(row))).of[0];
    scale = 1.0f / team.template reduced<Add, 1>(one(sum_of(row, largest))).of[0];
  }
  __device__ __forceinline__ float applied(float x, int /*j*/) const {
    return power_of_2(fmaf(x, kLog2OfE, -largest * kLog2OfE)) * scale;
  }
  template <int BYTES, int WHOLE, int VEC>
  __device__ __forceinline__ void apply(float (&value)[VEC], int j) const {
#pragma unroll
    for (int e = 0; e < VEC; ++e) value[e] = applied(value[e], j + e);
  }

  float largest = 0.0f;
  float scale = 1.0f;

 private:
  template <typename Row>
  static __device__ __forceinline__ float largest_of(const Row& row) {
    float largest = kLowest;
    row.for_each([&](float x) { largest = fmaxf(largest, x); });
    return largest;
  }
  template <typename Row>
  static __device__ __forceinline__ float sum_of(const Row& row, float largest) {
    float sum = 0.0f;
    const float exponent = largest * kLog2OfE;
    row.for_each([&](float x) { sum += power_of_2(fmaf(x, kLog2OfE, -exponent)); });
    return sum;
  }
};

/// The weights of a piece of a row, from element j on.
template <int BYTES, int WHOLE, typename T, int VEC>
__device__ __forceinline__ void load_weights(float (&to)[VEC], const T* weight, int j) {
  if constexpr (WHOLE != 0) {
    const auto piece = *reinterpret_cast<const Piece<T, BYTES>*>(weight + j);
#pragma unroll
    for (int e = 0; e < VEC; ++e) to[e] = number(piece.element[e]);
  } else {
#pragma unroll
    for (int e = 0; e < VEC; ++e) to[e] = number(weight[j + e]);
  }
}

/// x over the root of the mean square of the row, times a weight.
template <typename T>
struct RmsNorm {
  static constexpr int kNumbers = 1;
  using Numbers = NumbersOf<1>;  ///< The sum of squares.

  static __device__ __forceinline__ Numbers none() { return Add::none(); }
  static __device__ __forceinline__ Numbers both(Numbers a, Numbers b) { return Add::both(a, b); }
  template <typename Row>
  static __device__ __forceinline__ Numbers gathered(const Row& row) {
    float sum = 0.0f;
    row.for_each([&](float x) { sum = fmaf(x, x, sum); });
    return {{sum}};
  }
  __device__ __forceinline__ void know(Numbers numbers, int n) {
    scale = rsqrtf(numbers.of[0] / static_cast<float>(n) + kEpsilon);
  }
  __device__ __forceinline__ float applied(float x, int j) const {
    return x * scale * number(weight[j]);
  }
  template <int BYTES, int WHOLE, int VEC>
  __device__ __forceinline__ void apply(float (&value)[VEC], int j) const {
    float weights[VEC];
    load_weights<BYTES, WHOLE>(weights, weight, j);
#pragma unroll
    for (int e = 0; e < VEC; ++e) value[e] = value[e] * scale * weights[e];
  }

  const T* weight;
  float scale = 1.0f;
};

/// x less the mean of the row, over the deviation, times a weight, plus a bias.
template <typename T>
struct LayerNorm {
  static constexpr int kNumbers = 3;
  using Numbers = NumbersOf<3>;  ///< How many elements; mean; sum of squared distances from it.

  static __device__ __forceinline__ Numbers none() { return {{0.0f, 0.0f, 0.0f}}; }
  /// Chan's formula, in which nothing cancels.
  static __device__ __forceinline__ Numbers both(Numbers a, Numbers b) {
    const float count = a.of[0] + b.of[0];
    const float share = count == 0.0f ? 0.0f : b.of[0] / count;
    const float apart = b.of[1] - a.of[1];
    return {
        {count, fmaf(apart, share, a.of[1]), a.of[2] + b.of[2] + apart * apart * a.of[0] * share}};
  }
  template <typename Row>
  static __device__ __forceinline__ Numbers gathered(const Row& row) {
    float count = 0.0f;
    row.for_each([&](float) { count += 1.0f; });
    const float own_mean = count == 0.0f ? 0.0f : sum_of(row) / count;
    return {{count, own_mean, squares_of(row, own_mean)}};
  }
  __device__ __forceinline__ void know(Numbers numbers, int n) {
    mean = numbers.of[1];
    scale = rsqrtf(numbers.of[2] / static_cast<float>(n) + kEpsilon);
  }
  template <typename Row, typename Team>
  __device__ __forceinline__ void learn(const Row& row, Team& team, int n) {
    const float count = static_cast<float>(n);
    mean = team.template reduced<Add, 0>(one(sum_of(row))).of[0] / count;
    const float squares = team.template reduced<Add, 1>(one(squares_of(row, mean))).of[0];
    scale = rsqrtf(squares / count + kEpsilon);
  }
  __device__ __forceinline__ float applied(float x, int j) const {
    return fmaf((x - mean) * scale, number(weight[j]), number(bias[j]));
  }
  template <int BYTES, int WHOLE, int VEC>
  __device__ __forceinline__ void apply(float (&value)[VEC], int j) const {
    float weights[VEC];
    float biases[VEC];
    load_weights<BYTES, WHOLE>(weights, weight, j);
    load_weights<BYTES, WHOLE>(biases, bias, j);
#pragma unroll
    for (int e = 0; e < VEC; ++e) value[e] = fmaf((value[e] - mean) * scale, weights[e], biases[e]);
  }

  const T* weight;
  const T* bias;
  float mean = 0.0f;
  float scale = 1.0f;

 private:
  template <typename Row>
  static __device__ __forceinline__ float sum_of(const Row& row) {
    float sum = 0.0f;
    row.for_each([&](float x) { sum += x; });
    return sum;
  }
  template <typename Row>
  static __device__ __forceinline__ float squares_of(const Row& row, float mean) {
    float sum = 0.0f;
    row.for_each([&](float x) { sum = fmaf(x - mean, x - mean, sum); });
    return sum;
  }
};

/// Floats that a thread finds in each of PASSES reductions.
template <typename Operation, int PASSES>
constexpr int kFloats = PASSES == 1 ? Operation::kNumbers : 1;

/// Finds out what the operation needs to know of the row of which each thread of the team holds a
/// part, in PASSES reductions.
template <int PASSES, typename Operation, typename Row, typename Team>
__device__ __forceinline__ void learn(Operation& operation, const Row& row, Team& team, int n) {
  if constexpr (PASSES == 1) {
    operation.know(team.template reduced<Operation, 0>(Operation::gathered(row)), n);
  } else {
    operation.learn(row, team, n);
  }
}

}  // namespace normalize_detail
