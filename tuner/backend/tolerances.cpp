#include "tuner/backend/tolerances.h"

#include "tuner/core/compensated_sum.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/reasons.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace smemtune {

Sum sum_of(std::span<const std::uint8_t> bytes, ScalarType type) {
  if (is_floating(type)) return {.number = sum_of(to_doubles(bytes, type))};
  UnsignedWhole sum = 0;
  for (const std::uint64_t bits : to_bits(bytes, type)) {
    sum += static_cast<UnsignedWhole>(whole_of(bits, type));
  }
  const std::uint64_t wrapped = bits_of(static_cast<Whole>(sum), type);
  return {.number = static_cast<double>(whole_of(wrapped, type)), .bits = wrapped};
}

double distance(const Sum& a, const Sum& b, ScalarType type) {
  if (is_floating(type)) return std::abs(a.number - b.number);
  // The shorter way around the type's range counts.
  const std::uint64_t one_way =
      bits_of(static_cast<Whole>(a.bits) - static_cast<Whole>(b.bits), type);
  const std::uint64_t other_way =
      bits_of(static_cast<Whole>(b.bits) - static_cast<Whole>(a.bits), type);
  return static_cast<double>(std::min(one_way, other_way));
}

std::string exact_text(std::uint64_t bits, ScalarType type) {
  if (is_floating(type)) return "";
  return is_signed_integer(type) ? std::to_string(static_cast<std::int64_t>(whole_of(bits, type)))
                                 : std::to_string(bits);
}

double sum_of(std::span<const double> elements) {
  CompensatedSum sum;
  for (const double element : elements) sum.add(element);
  return sum.total();
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
  if (std::isinf(reference)) return 0;
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

bool agrees_beyond_numbers(double value, double expected, bool nan_agrees) {
  const bool both_infinite = std::isinf(value) && value == expected;
  return both_infinite || (nan_agrees && std::isnan(value) && std::isnan(expected));
}

bool is_before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

void note_error(double error, double expected, RunReport& report) {
  if (!std::isfinite(error)) return;
  report.max_absolute_error = std::max(report.max_absolute_error, error);
  if (expected != 0) {
    report.max_relative_error = std::max(report.max_relative_error, error / std::abs(expected));
  }
}

std::optional<Mismatch> wrong_sum(const Argument& argument, const Sum& its_sum,
                                  const Sum& expected_sum, const Tolerance& tolerance,
                                  RunReport& report) {
  const double error = distance(its_sum, expected_sum, argument.type);
  const double expected = expected_sum.number;
  note_error(error, expected, report);
  const Tolerance used = tolerance_for(tolerance, argument.type);
  // This form of the comparison makes NaN fail.
  if (error <= allowed_error(used, argument.type, expected)) return std::nullopt;
  Mismatch mismatch = {.argument = argument.name,
                       .reason = Reason(Status::correctness, "mismatch").word()};
  mismatch.value = its_sum.number;
  mismatch.expected = expected;
  mismatch.exact_value = exact_text(its_sum.bits, argument.type);
  mismatch.exact_expected = exact_text(expected_sum.bits, argument.type);
  return mismatch;
}

namespace {

/// `exact`: all digits of a number, or an empty text.
template <typename Number>
std::optional<Mismatch> wrong_in_order(const Argument& argument, std::vector<Number> numbers,
                                       std::vector<Number> expected, const Tolerance& used,
                                       const auto& exact, RunReport& report) {
  const auto less = [](Number a, Number b) {
    if constexpr (std::is_floating_point_v<Number>) return is_before(a, b);
    return a < b;
  };
  std::ranges::sort(numbers, less);
  std::ranges::sort(expected, less);
  Mismatch mismatch = {.argument = argument.name + " in ascending order",
                       .reason = Reason(Status::correctness, "mismatch").word()};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto wanted = static_cast<double>(expected[i]);
    if (agrees_beyond_numbers(static_cast<double>(numbers[i]), wanted, argument.nan_agrees)) {
      continue;
    }
    const auto error = std::abs(static_cast<double>(numbers[i] - expected[i]));
    note_error(error, wanted, report);
    // NaN fails.
    if (error <= allowed_error(used, argument.type, wanted) || mismatch.count++ > 0) continue;
    mismatch.index = static_cast<std::int64_t>(i);
    mismatch.value = static_cast<double>(numbers[i]);
    mismatch.expected = wanted;
    mismatch.exact_value = exact(numbers[i]);
    mismatch.exact_expected = exact(expected[i]);
  }
  return mismatch.count == 0 ? std::nullopt : std::optional(mismatch);
}

std::vector<Whole> to_wholes(std::span<const std::uint8_t> bytes, ScalarType type) {
  std::vector<Whole> wholes;
  for (const std::uint64_t bits : to_bits(bytes, type)) wholes.push_back(whole_of(bits, type));
  return wholes;
}

}  // namespace

std::optional<Mismatch> wrong_sorted(const Argument& argument, std::span<const std::uint8_t> bytes,
                                     std::span<const std::uint8_t> expected,
                                     const Tolerance& tolerance, RunReport& report) {
  const ScalarType type = argument.type;
  const Tolerance used = tolerance_for(tolerance, type);
  if (is_floating(type)) {
    return wrong_in_order(
        argument, to_doubles(bytes, type), to_doubles(expected, type), used,
        [](double /*x*/) { return std::string(); }, report);
  }
  return wrong_in_order(
      argument, to_wholes(bytes, type), to_wholes(expected, type), used,
      [type](Whole x) { return exact_text(bits_of(x, type), type); }, report);
}

}  // namespace smemtune
