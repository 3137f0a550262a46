// Prefix sums of tiles, and how blocks learn what is before their tile (decoupled look-back).
//
// The status of a tile is a word of 8 bytes for each 4 of an element: a flag and these 4 bytes. It is
// read and written at once, so that a value needs no fence to be seen with its flag.

#pragma once

#include "../common/read_once.cuh"
#include "../common/write_once.cuh"

namespace scan_detail {

enum Flag : unsigned {
  nothing = 0,
  own_sum = 1,    ///< The value is the sum of the tile's elements.
  whole_sum = 2,  ///< The value is the sum of these and of all before.
};

/// Value and flag of a tile.
template <typename T>
struct Status {
  static constexpr int kWords = static_cast<int>(sizeof(T) / 4);

  T value;
  unsigned flag;

  /// The status at `words`; has no flag where it is being written.
  static __device__ __forceinline__ Status read(const volatile unsigned long long* words) {
    union {
      unsigned half[kWords];
      T value;
    } read;
    unsigned long long word[kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i) word[i] = words[i];
    unsigned flag = static_cast<unsigned>(word[0] >> 32);
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      read.half[i] = static_cast<unsigned>(word[i]);
      if (static_cast<unsigned>(word[i] >> 32) != flag) flag = nothing;
    }
    return {read.value, flag};
  }
  __device__ __forceinline__ void write(volatile unsigned long long* words) const {
    union {
      T value;
      unsigned half[kWords];
    } written = {value};
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      words[i] = static_cast<unsigned long long>(flag) << 32 | written.half[i];
    }
  }
};

/// The sum of this lane and those before it in the warp.
template <typename T>
__device__ __forceinline__ T scanned_in_warp(T value, int lane) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const T before = __shfl_up_sync(0xffffffffu, value, distance);
    if (lane >= distance) value = before + value;
  }
  return value;
}

/// The sum of all lanes of a warp, in all of them.
template <typename T>
__device__ __forceinline__ T sum_of_warp(T value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  }
  return value;
}

/// The sum of everything before a tile, found by one warp, which looks at WINDOW times 32 tiles at a
/// time, the nearest first.
template <int WINDOW, typename T>
__device__ __forceinline__ T sum_before(const volatile unsigned long long* status, int tile,
                                        int lane) {
  constexpr int WORDS = Status<T>::kWords;
  const auto look_at = [&](int at) {
    return at < 0 ? Status<T>{T(0), whole_sum}
                  : Status<T>::read(status + static_cast<long long>(at) * WORDS);
  };
  T sum = T(0);
  for (int nearest = tile - 1;; nearest -= 32 * WINDOW) {
    Status<T> seen[WINDOW];
#pragma unroll
    for (int i = 0; i < WINDOW; ++i) seen[i] = look_at(nearest - i * 32 - lane);
#pragma unroll
    for (int i = 0; i < WINDOW; ++i) {
      int last = 32;
      while (true) {
        const unsigned whole = __ballot_sync(0xffffffffu, seen[i].flag == whole_sum ? 1 : 0);
        const unsigned missing = __ballot_sync(0xffffffffu, seen[i].flag == nothing ? 1 : 0);
        last = whole == 0 ? 32 : __ffs(static_cast<int>(whole)) - 1;
        if (missing == 0 || __ffs(static_cast<int>(missing)) - 1 > last) break;
        if (seen[i].flag == nothing) seen[i] = look_at(nearest - i * 32 - lane);
      }
      sum = sum_of_warp(lane <= last ? seen[i].value : T(0)) + sum;
      if (last < 32) return sum;
    }
  }
}

/// Waits until all tiles know what is before them, so that none looks at another one any more, and
/// leaves their statuses as 0 for the next launch. All threads of the last tile's block call it.
template <typename T>
__device__ __forceinline__ void clear_statuses(unsigned long long* status, int tiles) {
  constexpr int WORDS = Status<T>::kWords;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int tile = thread; tile < tiles; tile += threads) {
    while (Status<T>::read(status + static_cast<long long>(tile) * WORDS).flag != whole_sum) {
    }
  }
  __syncthreads();
  for (long long i = thread; i < static_cast<long long>(tiles) * WORDS; i += threads) status[i] = 0;
}

/// A tile of which each thread holds ITEMS pieces of BYTES bytes. A warp's pieces are neighbors.
template <typename T, int EXCLUSIVE, int BYTES, int THREADS, int ITEMS, int WINDOW>
class Tile {
 public:
  static constexpr int VEC = BYTES / static_cast<int>(sizeof(T));
  static constexpr int kElements = THREADS * ITEMS * VEC;
  static constexpr int kWarps = THREADS / 32;

  /// What the threads of a block tell each other; shared memory.
  struct Shared {
    T warp_sum[kWarps];
    T before[kWarps];
    T ahead[kWarps];
  };

  struct alignas(BYTES) Piece {
    T element[VEC];
  };

  /// Holds the elements of the tile at `from`, of which there are `count`; zeros beyond them.
  template <int STREAM>
  __device__ __forceinline__ void load(const T* from, int count) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = index(item);
      if (i + VEC <= count) {
        const auto* const piece = reinterpret_cast<const Piece*>(from + i);
        if constexpr (STREAM != 0) {
          piece_[item] = read_once(piece);
        } else {
          piece_[item] = *piece;
        }
      } else {
#pragma unroll
        for (int e = 0; e < VEC; ++e) piece_[item].element[e] = i + e < count ? from[i + e] : T(0);
      }
    }
  }

  /// Puts what each warp has of the whole tile at `from` into `shared`.
  static __device__ __forceinline__ void add_up(const T* from, Shared& shared) {
    T sum = T(0);
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const Piece piece = *reinterpret_cast<const Piece*>(from + index(item));
#pragma unroll
      for (int e = 0; e < VEC; ++e) sum += piece.element[e];
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) shared.ahead[threadIdx.x / 32] = sum;
  }

  /// Tells later tiles the sum that was added up. One warp calls it, behind a barrier of the block.
  static __device__ __forceinline__ void tell_sum(int tile, unsigned long long* statuses,
                                                  const Shared& shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const T sum = sum_of_warp(lane < kWarps ? shared.ahead[lane] : T(0));
    if (lane == 0) {
      Status<T>{sum, own_sum}.write(statuses + static_cast<long long>(tile) * Status<T>::kWords);
    }
  }

  /// Turns the elements into their prefix sums, with the help of the tiles before. All threads of the
  /// block call it. With TOLD the later tiles already know the sum of this one.
  template <bool TOLD>
  __device__ __forceinline__ void scan(int tile, unsigned long long* status, Shared& shared) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    T sum = T(0);  // Of the warp's pieces so far.
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      T own = T(0);
#pragma unroll
      for (int e = 0; e < VEC; ++e) {
        const T element = piece_[item].element[e];
        if constexpr (EXCLUSIVE != 0) piece_[item].element[e] = own;
        own = e == 0 ? element : own + element;
        if constexpr (EXCLUSIVE == 0) piece_[item].element[e] = own;
      }
      const T scanned = scanned_in_warp(own, lane);
      const T before = __shfl_up_sync(0xffffffffu, scanned, 1);
      add(item, lane == 0 ? sum : sum + before);
      sum += __shfl_sync(0xffffffffu, scanned, 31);
    }
    if (lane == 0) shared.warp_sum[warp] = sum;
    __syncthreads();
    if (warp == 0) look_back<TOLD>(tile, status, shared, lane);
    __syncthreads();
    const T before = shared.before[warp];
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) add(item, before);
  }

  template <int STREAM>
  __device__ __forceinline__ void store(T* to, int count) const {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = index(item);
      if (i + VEC <= count) {
        if constexpr (STREAM != 0) {
          write_once(reinterpret_cast<Piece*>(to + i), piece_[item]);
        } else {
          *reinterpret_cast<Piece*>(to + i) = piece_[item];
        }
      } else {
#pragma unroll
        for (int e = 0; e < VEC; ++e) {
          if (i + e < count) to[i + e] = piece_[item].element[e];
        }
      }
    }
  }

 private:
  static __device__ __forceinline__ int index(int item) {
    const int thread = static_cast<int>(threadIdx.x);
    return ((thread / 32 * ITEMS + item) * 32 + thread % 32) * VEC;
  }

  __device__ __forceinline__ void add(int item, T before) {
#pragma unroll
    for (int e = 0; e < VEC; ++e) piece_[item].element[e] = before + piece_[item].element[e];
  }

  /// Tells the later tiles this one's sum, finds what is before it, and tells them that, too.
  template <bool TOLD>
  static __device__ __forceinline__ void look_back(int tile, unsigned long long* statuses,
                                                   Shared& shared, int lane) {
    const T own = lane < kWarps ? shared.warp_sum[lane] : T(0);
    const T scanned = scanned_in_warp(own, lane);
    const T sum = __shfl_sync(0xffffffffu, scanned, 31);
    T before_warp = __shfl_up_sync(0xffffffffu, scanned, 1);
    if (lane == 0) before_warp = T(0);
    auto* const status = statuses + static_cast<long long>(tile) * Status<T>::kWords;
    T before = T(0);
    if (tile > 0) {
      if (!TOLD && lane == 0) Status<T>{sum, own_sum}.write(status);
      before = sum_before<WINDOW, T>(statuses, tile, lane);
    }
    if (lane == 0) Status<T>{before + sum, whole_sum}.write(status);
    if (lane < kWarps) shared.before[lane] = before + before_warp;
  }

  Piece piece_[ITEMS];
};

}  // namespace scan_detail
