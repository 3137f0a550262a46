#include "tuner/backend/tolerances.h"

#include "tuner/core/element_codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace smemtune {
namespace {

TEST(AllowedError, AddsUnitsInTheLastPlaceOfTheType) {
  const Tolerance ulps = {.absolute = {}, .relative = {}, .ulps = 2};
  EXPECT_EQ(allowed_error(ulps, ScalarType::float32, 1.0), 2 * 0x1p-23);
  EXPECT_EQ(allowed_error(ulps, ScalarType::float32, -1.999), 2 * 0x1p-23);
  EXPECT_EQ(allowed_error(ulps, ScalarType::float32, 2.0), 2 * 0x1p-22);
  EXPECT_EQ(allowed_error(ulps, ScalarType::float32, 0.0), 2 * 0x1p-149);
  EXPECT_EQ(allowed_error(ulps, ScalarType::float32, 0x1p-140), 2 * 0x1p-149);
  EXPECT_EQ(allowed_error(ulps, ScalarType::float16, 1.0), 2 * 0x1p-10);
  EXPECT_EQ(allowed_error(ulps, ScalarType::bfloat16, 1.0), 2 * 0x1p-7);
  EXPECT_EQ(allowed_error(ulps, ScalarType::float64, 1.0), 2 * 0x1p-52);
  EXPECT_EQ(allowed_error(ulps, ScalarType::int8, 100), 2);
  const Tolerance all = {.absolute = 0.5, .relative = 0.25, .ulps = 1};
  EXPECT_EQ(allowed_error(all, ScalarType::int32, -8), 0.5 + 2 + 1);
}

TEST(DefaultTolerance, IsExactForIntegersAndAFewUnitsForFloats) {
  EXPECT_EQ(0, default_tolerance(ScalarType::int32).absolute);
  EXPECT_EQ(0, default_tolerance(ScalarType::uint8).relative);
  EXPECT_DOUBLE_EQ(64.0 / (1 << 23), *default_tolerance(ScalarType::float32).relative);
  EXPECT_DOUBLE_EQ(4.0 / (1 << 10), *default_tolerance(ScalarType::float16).absolute);
}

TEST(WrongSorted, AgreesOnInfinitiesAndWhereItIsAskedForOnNaN) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Argument argument;
  argument.name = "o";
  argument.type = ScalarType::float32;
  RunReport report;
  const auto is_wrong = [&](const std::vector<double>& own, const std::vector<double>& expected) {
    return wrong_sorted(argument, encode(own, argument.type), encode(expected, argument.type), {},
                        report)
        .has_value();
  };
  EXPECT_FALSE(is_wrong({kInfinity, 1, -kInfinity}, {-kInfinity, kInfinity, 1}));
  EXPECT_TRUE(is_wrong({kInfinity, 1}, {1, -kInfinity}));
  EXPECT_TRUE(is_wrong({kNan, 1}, {1, kNan}));
  argument.nan_agrees = true;
  EXPECT_FALSE(is_wrong({kNan, 1}, {1, kNan}));
  EXPECT_TRUE(is_wrong({kNan, 1}, {1, 2}));
  EXPECT_TRUE(is_wrong({1, 4}, {2, 4}));
  EXPECT_EQ(report.max_absolute_error, 1);
  EXPECT_EQ(report.max_relative_error, 0.5);
}

}  // namespace
}  // namespace smemtune
