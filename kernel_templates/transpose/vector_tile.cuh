// Tiles of a matrix that are transposed in two steps: squares of V x V elements in the registers of a
// thread, and the squares of a tile by way of shared memory.

#pragma once

#include "../common/element_types.cuh"

namespace transpose_detail {

/// V elements of BYTES / V bytes each, read and written at once.
template <int BYTES>
struct alignas(BYTES) Piece {
  unsigned word[BYTES / 4];
};
template <>
struct alignas(2) Piece<2> {
  unsigned short word[1];
};
template <>
struct alignas(1) Piece<1> {
  unsigned char word[1];
};

/// Makes the rows a, b, c, d of a square of 4 x 4 bytes its columns.
__device__ __forceinline__ void transpose_bytes(unsigned& a, unsigned& b, unsigned& c,
                                                unsigned& d) {
  const unsigned ab_low = __byte_perm(a, b, 0x5140);  // a0 b0 a1 b1
  const unsigned ab_high = __byte_perm(a, b, 0x7362);
  const unsigned cd_low = __byte_perm(c, d, 0x5140);
  const unsigned cd_high = __byte_perm(c, d, 0x7362);
  a = __byte_perm(ab_low, cd_low, 0x5410);
  b = __byte_perm(ab_low, cd_low, 0x7632);
  c = __byte_perm(ab_high, cd_high, 0x5410);
  d = __byte_perm(ab_high, cd_high, 0x7632);
}

/// Makes the rows a, b of a square of 2 x 2 halves of words its columns.
__device__ __forceinline__ void transpose_halves(unsigned& a, unsigned& b) {
  const unsigned first = __byte_perm(a, b, 0x5410);
  b = __byte_perm(a, b, 0x7632);
  a = first;
}

/// A square whose row i is `row[i]`, V elements of SIZE bytes.
template <int SIZE, int V>
struct Square {
  static constexpr int BYTES = V * SIZE;
  using Row = Piece<BYTES>;
  Row row[V];

  __device__ __forceinline__ void transpose() {
    if constexpr (V > 1 && BYTES == 2) {
      const unsigned a = row[0].word[0];
      const unsigned b = row[1].word[0];
      row[0].word[0] = static_cast<unsigned short>((a & 0xffu) | b << 8);
      row[1].word[0] = static_cast<unsigned short>(a >> 8 | (b & 0xff00u));
    } else if constexpr (V > 1) {
      transpose_in_words();
      transpose_words();
    }
  }

 private:
  static constexpr int UNIT = SIZE < 4 ? 4 / SIZE : 1;  // Elements that begin in the same word.
  static constexpr int UNITS = V / UNIT;

  __device__ __forceinline__ void transpose_in_words() {
#pragma unroll
    for (int i = 0; i < UNITS; ++i) {
#pragma unroll
      for (int j = 0; j < UNITS; ++j) {
        if constexpr (SIZE == 1) {
          transpose_bytes(row[4 * i].word[j], row[4 * i + 1].word[j], row[4 * i + 2].word[j],
                          row[4 * i + 3].word[j]);
        } else if constexpr (SIZE == 2) {
          transpose_halves(row[2 * i].word[j], row[2 * i + 1].word[j]);
        }
      }
    }
  }

  __device__ __forceinline__ void transpose_words() {
    constexpr int WORDS = SIZE < 4 ? 1 : SIZE / 4;  // Of a unit.
#pragma unroll
    for (int i = 0; i < UNITS; ++i) {
#pragma unroll
      for (int j = i + 1; j < UNITS; ++j) {
#pragma unroll
        for (int k = 0; k < UNIT * WORDS; ++k) {
          unsigned& upper = row[i * UNIT + k / WORDS].word[j * WORDS + k % WORDS];
          unsigned& lower = row[j * UNIT + k / WORDS].word[i * WORDS + k % WORDS];
          const unsigned kept = upper;
          upper = lower;
          lower = kept;
        }
      }
    }
  }
};

/// A tile of ROWS x COLUMNS elements of a matrix of m x n, transposed by THREADS threads on its way
/// through shared memory. BYTES are read and written at a time, which divide the bytes of m and of n
/// elements.
template <typename T, int BYTES, int ROWS, int COLUMNS, int THREADS>
struct VectorTile {
  static constexpr int V = BYTES / static_cast<int>(sizeof(T));
  static constexpr int DOWN = ROWS / V;
  static constexpr int ACROSS = COLUMNS / V;
  static constexpr int ITEMS = DOWN * ACROSS / THREADS;  // Squares of a thread.
  static_assert(V >= 1 && BYTES <= 16, "an access has an element or more, and at most 16 bytes");
  static_assert(ITEMS >= 1 && ITEMS * THREADS == DOWN * ACROSS, "all threads have as many squares");
  static_assert((DOWN & (DOWN - 1)) == 0, "a swizzle stays within a column of a power of two");
  using Row = Piece<BYTES>;
  struct Squares {
    Square<sizeof(T), V> square[ITEMS];
  };
  struct Shared {
    Row piece[COLUMNS * DOWN];
  };

  static __device__ __forceinline__ void load(Squares& squares, const T* in, long long first_row,
                                              long long first_column, long long m, long long n) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = static_cast<int>(threadIdx.x) + item * THREADS;
      const long long row = first_row + i / ACROSS * V;
      const long long column = first_column + i % ACROSS * V;
      if (row >= m || column >= n) continue;
      const T* const from = in + row * n + column;
#pragma unroll
      for (int k = 0; k < V; ++k) {
        squares.square[item].row[k] = *reinterpret_cast<const Row*>(from + k * n);
      }
    }
  }

  static __device__ __forceinline__ void turn(Squares& squares, Shared& shared) {
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int i = static_cast<int>(threadIdx.x) + item * THREADS;
      squares.square[item].transpose();
#pragma unroll
      for (int k = 0; k < V; ++k) {
        shared.piece[place(i % ACROSS * V + k, i / ACROSS)] = squares.square[item].row[k];
      }
    }
  }

  /// `out` is n x m.
  static __device__ __forceinline__ void store(const Shared& shared, T* out, long long first_row,
                                               long long first_column, long long m, long long n) {
#pragma unroll
    for (int item = 0; item < ITEMS * V; ++item) {
      const int i = static_cast<int>(threadIdx.x) + item * THREADS;
      const long long row = first_row + i % DOWN * V;
      const long long column = first_column + i / DOWN;
      if (row >= m || column >= n) continue;
      *reinterpret_cast<Row*>(out + column * m + row) = shared.piece[place(i / DOWN, i % DOWN)];
    }
  }

 private:
  /// Where piece `down` of a column lies: swizzled, so that neither a warp that stores squares nor
  /// one that reads a column meets itself in a bank, if a column has 128 bytes or more.
  static __device__ __forceinline__ int place(int column, int down) {
    return column * DOWN + (down ^ (column / V & (DOWN - 1)));
  }
};

}  // namespace transpose_detail
