// The order in which blocks take the tiles of a matrix.

#pragma once

namespace transpose_detail {

struct Tile {
  long long row;  // Of the matrix's tiles.
  long long column;
};

/// Tile `number` of `down` x `across`: `group` rows of tiles are taken together, column by column.
/// So 1 goes along the rows, `down` or more along the columns.
__device__ __forceinline__ Tile tile_at(unsigned number, int down, int across, int group) {
  const unsigned in_group = static_cast<unsigned>(group) * across;  // Tiles.
  const int first = static_cast<int>(number / in_group) * group;
  const int rows = min(group, down - first);
  const int rest = static_cast<int>(number % in_group);
  return {first + rest % rows, rest / rows};
}

}  // namespace transpose_detail
