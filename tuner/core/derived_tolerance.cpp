#include "tuner/core/derived_tolerance.h"

#include "tuner/core/text.h"

namespace smemtune {

namespace {

std::string number_text(double value) { return significant(value, 3); }

}  // namespace

Tolerance tolerance_of(const DerivedTolerance& derived, double factor) {
  return {.absolute = factor * derived.absolute,
          .relative = factor * derived.relative,
          .ulps = kDerivedUlps};
}

std::string describe(const DerivedTolerance& derived) {
  const Tolerance tolerance = tolerance_of(derived, derived.factor);
  std::string allowed = number_text(*tolerance.absolute);
  if (*tolerance.relative > 0) allowed += " + " + number_text(*tolerance.relative) + " of it";
  return derived.output + " on " + derived.problem + ": an element may differ from " +
         derived.truth + " by " + allowed + " + " + number_text(kDerivedUlps) + " ulps, " +
         number_text(derived.factor) +
         " times the reference's own error beyond rounding (it is off by " +
         number_text(derived.largest_error) + " at most, elements up to " +
         number_text(derived.largest_value) + ", " + std::to_string(derived.elements) +
         " of them in " + std::to_string(derived.data_sets) +
         (derived.data_sets == 1 ? " data set)" : " data sets)");
}

}  // namespace smemtune
