#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/core/names.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Conclusions from the name of a number.

namespace smemtune {

std::string upper(std::string_view text);

/// Returns true if the name contains one of `parts`, in upper or lower case.
bool holds_any(const std::string& name, std::initializer_list<std::string_view> parts);

/// The purpose of a number, as far as its name tells.
enum class Meaning { tunable, unknown, problem };

Meaning meaning_of(const std::string& name);

/// Returns true for a limit of the C library, such as SIZE_MAX.
bool is_limit(const std::string& name);

/// Returns values around the one in the source, in ascending order: it is halved, where that leaves
/// no rest, and doubled. One that must not vary stays alone.
Json values_around(const std::string& name, std::int64_t value, bool may_vary);

/// Returns the axis in a name: 0 for `block_size_x`, 1 for `TILE_Y`; nullopt if there is none.
std::optional<std::size_t> axis_of(const std::string& name);

/// Returns true if a number of this name counts the threads of a block (in one dimension).
bool counts_threads(const std::string& name);

/// Values and a default for a name that nothing defines.
struct Guess {
  std::vector<std::int64_t> values;
  std::int64_t first = 1;
};

Guess guess(const std::string& name, bool is_extent, int block_dimensions);

}  // namespace smemtune
