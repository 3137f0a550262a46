// Bodies and the pull that they have on each other.

#pragma once

namespace nbody_detail {

template <typename T>
struct alignas(16) Body {
  T x, y, z, mass;
};

template <typename T>
struct Pull {
  T x = T(0), y = T(0), z = T(0);

  /// Adds what a body at `at` feels of `other`; nothing where both are the same or the mass is 0.
  __device__ __forceinline__ void add(const Body<T>& at, const Body<T>& other, T softening) {
    const T dx = other.x - at.x;
    const T dy = other.y - at.y;
    const T dz = other.z - at.z;
    const T inverse = rsqrt(dx * dx + (dy * dy + (dz * dz + softening)));
    const T scale = other.mass * inverse * (inverse * inverse);
    x += scale * dx;
    y += scale * dy;
    z += scale * dz;
  }

  __device__ __forceinline__ void add(const Pull& other) {
    x += other.x;
    y += other.y;
    z += other.z;
  }

  /// Stores the pull on body `i` times `factor`.
  __device__ __forceinline__ void store(T* to, long long i, T factor) const {
    to[3 * i] = factor * x;
    to[3 * i + 1] = factor * y;
    to[3 * i + 2] = factor * z;
  }
};

/// Body `i` of n; behind the last one, one without mass.
template <typename T>
__device__ __forceinline__ Body<T> body_or_none(const T* __restrict__ bodies, long long i,
                                                long long n) {
  if (i < n) return reinterpret_cast<const Body<T>*>(bodies)[i];
  return {T(0), T(0), T(0), T(0)};
}

}  // namespace nbody_detail
