// How the steps along k of all tiles are shared among as many blocks as run at a time: each computes
// as many whole tiles as every block can, and an equal share of the steps of the tiles that are left
// over. gemm_stream_k.cu has the picture.

#pragma once

/// Which block computes what.
struct Shares {
  int steps;      // Of a tile.
  int whole;      // Tiles that one block computes.
  int left_over;  // Tiles whose steps are shared.
  int share;      // Steps of a block; the first `longer` blocks have one more.
  int longer;
  int blocks;

  __device__ __forceinline__ Shares(int tiles, int steps_of_a_tile, int all_blocks)
      : steps(steps_of_a_tile),
        whole(tiles - tiles % all_blocks),
        left_over(tiles % all_blocks),
        share(left_over * steps / all_blocks),
        longer(left_over * steps % all_blocks),
        blocks(all_blocks) {}

  /// The first of a block's steps of the tiles that are left over.
  __device__ __forceinline__ int begin(int block) const {
    return block * share + min(block, longer);
  }

  __device__ __forceinline__ int block_of(int step) const {
    const int short_ones = step - longer * (share + 1);
    return short_ones < 0 ? step / (share + 1) : longer + short_ones / share;
  }

  /// Steps of one tile that a block computes.
  struct Item {
    int tile;
    int first;  // Steps; nothing is left to do where the last is not behind the first.
    int last;
    int piece;  // -1: the tile is whole; 0 or 1: the block's first or second piece.
  };

  /// The item-th thing that a block does: whole tiles, then its pieces.
  __device__ __forceinline__ Item item(int block, int item) const {
    const int number = block + item * blocks;
    if (number < whole) return {number, 0, steps, -1};
    const int piece = item - whole / blocks;
    if (piece > 1) return {0, 0, 0, piece};
    const int tile = begin(block) / steps + piece;  // Among those that are left over.
    return {whole + tile, max(begin(block) - tile * steps, 0),
            min(begin(block + 1) - tile * steps, steps), piece};
  }
};
