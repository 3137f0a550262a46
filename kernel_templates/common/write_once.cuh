// Writes of memory that nobody reads soon: the caches give up such lines first.

#pragma once

/// Stores a piece of 4, 8 or 16 bytes at `to`, which is aligned to them.
template <typename Piece>
__device__ __forceinline__ void write_once(Piece* to, const Piece& piece) {
  static_assert(sizeof(Piece) == 4 || sizeof(Piece) == 8 || sizeof(Piece) == 16, "one access");
  union {
    Piece piece;
    unsigned word;
    uint2 two;
    uint4 four;
  } written = {piece};
  if constexpr (sizeof(Piece) == 4) {
    __stcs(reinterpret_cast<unsigned*>(to), written.word);
  } else if constexpr (sizeof(Piece) == 8) {
    __stcs(reinterpret_cast<uint2*>(to), written.two);
  } else {
    __stcs(reinterpret_cast<uint4*>(to), written.four);
  }
}
