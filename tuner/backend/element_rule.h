#pragma once

#include "tuner/core/kernel_binding.h"

#include <cstdint>
#include <optional>

namespace smemtune {

/// A rule by which host and devices find the same elements of an argument's contents, each from its
/// index alone. Only operations that are rounded alike everywhere take part: + - * / and square
/// roots of doubles, and integers. A device reads it as it is.
struct ElementRule {
  enum class Kind : std::int32_t {
    bits,            ///< Random bits.
    number,          ///< A number from `first` to `first + range`.
    normal,          ///< A number of the normal distribution of mean `first` and deviation `range`.
    count,           ///< The index, from 0 again at `up`.
    spread_number,   ///< A number at a distance of any order of magnitude from `center`...
    spread_integer,  ///< ... or an integer from `middle`, at most `down` or `up` away.
  };

  Kind kind = Kind::number;
  std::uint64_t stream = 0;
  double first = 0;
  double range = 0;
  double center = 0;
  double lengths[2] = {};  ///< Lengths from `center` to both ends, or to the one off it.
  std::uint64_t middle = 0;
  std::uint64_t down = 0;
  std::uint64_t up = 0;

  bool gives_bits() const { return kind == Kind::bits || kind == Kind::spread_integer; }

  /// Returns element i of a rule that gives bits; of shorter types the low ones count.
  std::uint64_t bits_at(std::uint64_t i) const;

  /// Returns element i of any other rule, before it is rounded to the argument's type.
  double number_at(std::uint64_t i) const;
};

/// Returns the random stream of an argument: each has its own, or two inputs would be equal.
std::uint64_t stream_of(const Argument& argument, std::uint64_t seed);

/// Returns the rule of an argument's contents; nullopt if none is as simple, such as for
/// permutations, files and definitions.
std::optional<ElementRule> element_rule(const Argument& argument, std::uint64_t seed);

}  // namespace smemtune
