#include "tuner/backend/tolerances.h"

#include "tuner/backend/element_codec.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace smemtune {

double sum_of(std::span<const std::uint8_t> bytes, ScalarType type) {
  return sum_of(to_doubles(bytes, type));
}

double sum_of(std::span<const double> elements) {
  return std::accumulate(elements.begin(), elements.end(), 0.0);
}

Tolerance default_tolerance(ScalarType type) {
  const auto both = [](double tolerance) {
    return Tolerance{.absolute = tolerance, .relative = tolerance};
  };
  switch (type) {
    case ScalarType::float8_e4m3:
      return both(4 * 0x1p-3);
    case ScalarType::float16:
      return both(4 * 0x1p-10);
    case ScalarType::bfloat16:
      return both(4 * 0x1p-7);
    case ScalarType::float32:
      return both(64 * 0x1p-23);
    case ScalarType::float64:
      return both(64 * 0x1p-52);
    default:
      return both(0);
  }
}

Tolerance tolerance_for(const Tolerance& given, ScalarType type) {
  return given.is_given() ? given : default_tolerance(type);
}

double allowed_error(const Tolerance& tolerance, ScalarType type, double reference) {
  double allowed =
      tolerance.absolute.value_or(0) + tolerance.relative.value_or(0) * std::abs(reference);
  if (tolerance.ulps) {
    const LastPlace place = last_place(type);
    const bool floats = is_floating(type) && std::isfinite(reference);
    const int exponent = floats && reference != 0 ? std::ilogb(reference) : place.least_exponent;
    const double unit =
        floats ? std::ldexp(1.0, std::max(exponent, place.least_exponent) - place.digits) : 1;
    allowed += *tolerance.ulps * unit;
  }
  return allowed;
}

std::optional<Mismatch> wrong_sum(const Argument& argument, double sum, double expected,
                                  const Tolerance& tolerance, RunReport& report) {
  const double error = std::abs(sum - expected);
  if (std::isfinite(error)) {
    report.max_absolute_error = std::max(report.max_absolute_error, error);
    if (expected != 0) {
      report.max_relative_error = std::max(report.max_relative_error, error / std::abs(expected));
    }
  }
  const Tolerance used = tolerance_for(tolerance, argument.type);
  // Written so that NaN fails.
  if (error <= allowed_error(used, argument.type, expected)) return std::nullopt;
  Mismatch mismatch = {.argument = argument.name,
                       .reason = Reason(Status::correctness, "mismatch").word()};
  mismatch.value = sum;
  mismatch.expected = expected;
  return mismatch;
}

}  // namespace smemtune
