#pragma once

#include "tuner/core/kernel_template.h"

#include <cstdint>
#include <string>

namespace smemtune {

/// How far a correct kernel may be off in one output, on the data of one problem: see
/// tolerance_derivation.h.
struct DerivedTolerance {
  std::string problem;  ///< Its key.
  std::string output;
  std::string truth;    ///< What is exact: `naive in double precision`, `its definition`.
  double factor = 1;    ///< The space's.
  double absolute = 0;  ///< For a factor of 1, as is `relative`.
  double relative = 0;
  double largest_error = 0;  ///< Of the reference.
  double largest_value = 0;  ///< Of what is exact, without its sign.
  std::uint64_t elements = 0;
  std::int32_t data_sets = 0;

  bool operator==(const DerivedTolerance&) const = default;
};

/// What every derived tolerance allows besides, in units in the last place.
inline constexpr double kDerivedUlps = 4;

/// As elements are compared.
Tolerance tolerance_of(const DerivedTolerance& derived, double factor);

/// A line for people: the tolerance and how it came about.
std::string describe(const DerivedTolerance& derived);

}  // namespace smemtune
