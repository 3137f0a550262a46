// Reads of memory that nobody needs a second time: the caches give up such lines first, so that they
// neither displace what is needed nor cause dirty lines to be written back.

#pragma once

/// What lies at `from`, which has 4, 8 or 16 bytes and is aligned to them.
template <typename Piece>
__device__ __forceinline__ Piece read_once(const Piece* from) {
  union {
    unsigned word;
    uint2 two;
    uint4 four;
    Piece piece;
  } read = {};
  static_assert(sizeof(Piece) == 4 || sizeof(Piece) == 8 || sizeof(Piece) == 16, "one access");
  if constexpr (sizeof(Piece) == 4) {
    read.word = __ldcs(reinterpret_cast<const unsigned*>(from));
  } else if constexpr (sizeof(Piece) == 8) {
    read.two = __ldcs(reinterpret_cast<const uint2*>(from));
  } else {
    read.four = __ldcs(reinterpret_cast<const uint4*>(from));
  }
  return read.piece;
}
