#pragma once

#include "tuner/config/json_reader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the name of a number tells of it.

namespace smemtune {

std::string lower(std::string_view text);
std::string upper(std::string_view text);

/// Whether one of `parts` is in the name, in whatever case.
template <std::size_t N>
bool holds_any(const std::string& name, const std::array<std::string_view, N>& parts) {
  const std::string small = lower(name);
  for (const std::string_view part : parts) {
    if (small.find(part) != std::string::npos) return true;
  }
  return false;
}

/// What a number is for, as far as its name tells.
enum class Meaning { tunable, unknown, problem };

Meaning meaning_of(const std::string& name);

/// Whether it is a limit of the C library, such as SIZE_MAX.
bool is_limit(const std::string& name);

bool is_macro_name(const std::string& name);

/// Values around the one that the source has. A name that does not tell what it is for keeps its
/// own value only.
Json values_around(const std::string& name, std::int64_t value, bool may_vary);

/// `block_size_x` is of axis 0, `TILE_Y` of axis 1; nullopt: of none.
std::optional<std::size_t> axis_of(const std::string& name);

/// Whether a number of this name is how many threads a block has (in one dimension).
bool counts_threads(const std::string& name);

/// Values and a default for a name that nothing defines.
struct Guess {
  std::vector<std::int64_t> values;
  std::int64_t first = 1;
};

Guess guess(const std::string& name, bool is_extent, int block_dimensions);

}  // namespace smemtune
