// How the threads of a block reduce what lies in a row together.

#pragma once

#include "../common/read_once.cuh"
#include "reduction.cuh"

namespace reduce_detail {

/// What thread `lane` of `threads` gathers of `count` elements: BYTES at a time from where they are
/// aligned to that, ITEMS such pieces before any of them is needed. `count` is below 2^31 pieces,
/// and below 2^31 elements where indices count.
template <typename Reduction, int BYTES, int ITEMS, int STREAM>
__device__ __forceinline__ typename Reduction::Gathered gather(
    const typename Reduction::Element* from, long long count, int lane, int threads) {
  using T = typename Reduction::Element;
  constexpr int VEC = BYTES / static_cast<int>(sizeof(T));
  struct alignas(BYTES) Piece {
    T element[VEC];
  };
  const int misaligned =
      static_cast<int>(reinterpret_cast<unsigned long long>(from) / sizeof(T) % VEC);
  const int head = static_cast<int>(min(static_cast<long long>((VEC - misaligned) % VEC), count));
  const int pieces = static_cast<int>((count - head) / VEC);
  const int tail = static_cast<int>((count - head) % VEC);
  const T* const last = from + count - tail;
  const auto* const piece_at = reinterpret_cast<const Piece*>(from + head);

  auto value = Reduction::gather(lane < head     ? lane
                                 : lane < pieces ? head + lane * VEC
                                 : lane < tail   ? static_cast<int>(count) - tail + lane
                                                 : -1);
  for (int i = lane; i < head; i += threads) Reduction::add(value, from[i], i);

  Piece piece[ITEMS];
  const auto load = [&](int item, int i) {
    if constexpr (STREAM != 0) {
      piece[item] = read_once(piece_at + i);
    } else {
      piece[item] = piece_at[i];
    }
  };
  int i = lane;
  for (; i < pieces - (ITEMS - 1) * threads; i += ITEMS * threads) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) load(item, i + item * threads);
    Reduction::template add_all<VEC, ITEMS>(value, piece, head + i * VEC, threads * VEC);
  }
#pragma unroll
  for (int item = 0; item < ITEMS - 1; ++item) {
    if (i + item * threads < pieces) load(item, i + item * threads);
  }
#pragma unroll
  for (int item = 0; item < ITEMS - 1; ++item) {
    const int first = i + item * threads;
    const Piece one[1] = {piece[item]};
    if (first < pieces) Reduction::template add_all<VEC, 1>(value, one, head + first * VEC, 0);
  }

  for (int t = lane; t < tail; t += threads) {
    Reduction::add(value, last[t], static_cast<int>(count) - tail + t);
  }
  return value;
}

/// The value of LANES threads, whose number is a power of two, in the first of them; all threads of
/// the block call it, which are GROUPS times LANES.
template <typename Reduction, int LANES, int GROUPS>
__device__ __forceinline__ typename Reduction::Value reduced(typename Reduction::Value value,
                                                             int group, int lane) {
  constexpr int WIDTH = LANES < 32 ? LANES : 32;
#pragma unroll
  for (int distance = WIDTH / 2; distance > 0; distance /= 2) {
    value = Reduction::both(value, Reduction::from_lane(value, distance, WIDTH));
  }
  if constexpr (LANES > 32) {
    constexpr int WARPS = LANES / 32;
    __shared__ typename Reduction::Value values[GROUPS][WARPS];
    if (lane % 32 == 0) values[group][lane / 32] = value;
    __syncthreads();
    if (lane < 32) {
      value = lane < WARPS ? values[group][lane] : Reduction::none();
#pragma unroll
      for (int distance = WARPS / 2; distance > 0; distance /= 2) {
        value = Reduction::both(value, Reduction::from_lane(value, distance, 32));
      }
    }
  }
  return value;
}

/// Part `part` of `parts` of a row, as the first thread of the block has it: a share in one piece,
/// or with INTERLEAVED every parts-th piece of what the block's threads read at once.
template <typename Reduction, int BYTES, int THREADS, int ITEMS, int STREAM, int INTERLEAVED>
__device__ __forceinline__ typename Reduction::Value reduced_part(
    const typename Reduction::Element* row, long long n, int part, int parts) {
  const int thread = static_cast<int>(threadIdx.x);
  typename Reduction::Value value;
  if constexpr (INTERLEAVED != 0) {
    value = Reduction::whole(
        gather<Reduction, BYTES, ITEMS, STREAM>(row, n, part * THREADS + thread, parts * THREADS),
        0);
  } else {
    constexpr int LINE = 128 / static_cast<int>(sizeof(*row));
    const long long share = ((n + parts - 1) / parts + LINE - 1) / LINE * LINE;
    const long long begin = min(part * share, n);
    value = Reduction::whole(gather<Reduction, BYTES, ITEMS, STREAM>(
                                 row + begin, min(share, n - begin), thread, THREADS),
                             begin);
  }
  return reduced<Reduction, THREADS, 1>(value, 0, thread);
}

/// Values `first` to `first + count - 1` of an array, as the first thread of the block has them.
template <typename Reduction, int THREADS>
__device__ __forceinline__ typename Reduction::Value reduced_values(
    typename Reduction::Array values, long long first, int count) {
  const int thread = static_cast<int>(threadIdx.x);
  auto value = Reduction::none();
  for (int i = thread; i < count; i += THREADS) {
    value = Reduction::both(value, values.get(first + i));
  }
  return reduced<Reduction, THREADS, 1>(value, 0, thread);
}

/// Keeps the value of a block's part of a row, and where it is the last of the `parts` that do so,
/// reduces all of them to the row's. `ticket` counts the blocks of each row and is 0 before and after.
template <typename Reduction, int THREADS>
__device__ __forceinline__ void finish(typename Reduction::Value value,
                                       typename Reduction::Array out,
                                       typename Reduction::Array partial, unsigned* ticket,
                                       int parts) {
  const long long row = blockIdx.x / parts;
  const bool is_first = threadIdx.x == 0;
  bool is_last = false;
  if (is_first) {
    partial.set(blockIdx.x, value);
    __threadfence();
    is_last = atomicAdd(ticket + row, 1u) == static_cast<unsigned>(parts) - 1;
    __threadfence();
  }
  if (__syncthreads_or(is_last ? 1 : 0) == 0) return;
  value = reduced_values<Reduction, THREADS>(partial, row * parts, parts);
  if (!is_first) return;
  out.set(row, value);
  ticket[row] = 0;
}

}  // namespace reduce_detail
