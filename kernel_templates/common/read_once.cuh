// Reads and writes of memory that nobody needs a second time: the caches give up such lines first, so
// that they displace nothing that is needed.

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

/// Stores at `to`, which has 4, 8 or 16 bytes and is aligned to them.
template <typename Piece>
__device__ __forceinline__ void write_once(Piece* to, const Piece& piece) {
  union {
    Piece piece;
    unsigned word;
    uint2 two;
    uint4 four;
  } written = {piece};
  static_assert(sizeof(Piece) == 4 || sizeof(Piece) == 8 || sizeof(Piece) == 16, "one access");
  if constexpr (sizeof(Piece) == 4) {
    __stcs(reinterpret_cast<unsigned*>(to), written.word);
  } else if constexpr (sizeof(Piece) == 8) {
    __stcs(reinterpret_cast<uint2*>(to), written.two);
  } else {
    __stcs(reinterpret_cast<uint4*>(to), written.four);
  }
}
