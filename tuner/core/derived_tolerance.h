#pragma once

#include "tuner/core/kernel_template.h"

#include <cstdint>
#include <string>

namespace smemtune {

/// The error that a correct kernel may have in one output, on the data of one problem: see
/// tolerance_derivation.h.
struct DerivedTolerance {
  std::string problem;  ///< Key of the problem.
  std::string output;
  std::string truth;    ///< Values taken as exact: `naive in double precision`, `its definition`.
  double factor = 1;    ///< Factor that the space gives.
  double absolute = 0;  ///< Absolute tolerance for a factor of 1.
  double relative = 0;  ///< Relative tolerance for a factor of 1.
  double largest_error = 0;  ///< Largest error of the reference.
  double largest_value = 0;  ///< Largest magnitude of the exact values.
  std::uint64_t elements = 0;
  std::int32_t data_sets = 0;

  bool operator==(const DerivedTolerance&) const = default;
};

/// Units in the last place that every derived tolerance allows in addition.
inline constexpr double kDerivedUlps = 4;

/// Returns the tolerance with which elements are compared.
Tolerance tolerance_of(const DerivedTolerance& derived, double factor);

/// Describes the tolerance and how it was derived, in one line for people.
std::string describe(const DerivedTolerance& derived);

}  // namespace smemtune
