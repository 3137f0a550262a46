#include "tuner/backend/tolerances.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace smemtune
