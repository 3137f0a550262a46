#include "tuner/engine/tolerance_derivation.h"

#include "tuner/core/hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace smemtune {
namespace {

using testing::HasSubstr;

/// Returns a number in [-1, 1).
double random_number(std::uint64_t i) {
  return static_cast<double>(random_bits(7, i) >> 11) * 0x1p-52 - 1;
}

TEST(OwnErrors, OfSumsThatCancelGiveAnAbsoluteTolerance) {
  // Errors that do not depend on the value.
  std::vector<double> exact(1000);
  std::vector<double> own(1000);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    exact[i] = 20 * random_number(2 * i);
    own[i] = exact[i] + 1e-4 * random_number(2 * i + 1);
  }
  OwnErrors errors(ScalarType::float32);
  errors.add(exact, own);
  const OwnErrors::Line line = errors.bound();
  EXPECT_NEAR(line.absolute, 1e-4, 1e-5);
  EXPECT_LT(line.relative * 20, 1e-5);
}

TEST(OwnErrors, InProportionGiveARelativeTolerance) {
  std::vector<double> exact(1000);
  std::vector<double> own(1000);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    exact[i] = std::exp(20 * random_number(2 * i));
    own[i] = exact[i] * (1 + 1e-5 * random_number(2 * i + 1));
  }
  OwnErrors errors(ScalarType::float32);
  errors.add(exact, own);
  const OwnErrors::Line line = errors.bound();
  EXPECT_NEAR(line.relative, 1e-5, 2e-6);
  EXPECT_LT(line.absolute, 1e-8);
}

TEST(OwnErrors, LieBelowTheBound) {
  std::vector<double> exact(4096);
  std::vector<double> own(4096);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    exact[i] = std::pow(10, 3 * random_number(3 * i));
    own[i] = exact[i] + (1e-5 + 1e-4 * std::sqrt(exact[i])) * random_number(3 * i + 1);
  }
  OwnErrors errors(ScalarType::float32);
  errors.add(exact, own);
  const OwnErrors::Line line = errors.bound();
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double ulp = std::ldexp(1.0, std::ilogb(exact[i]) - 23);
    EXPECT_LE(std::abs(own[i] - exact[i]) - ulp / 2, line.absolute + line.relative * exact[i]) << i;
  }
}

TEST(OwnErrors, OfRoundingAloneAreNone) {
  OwnErrors errors(ScalarType::float16);
  errors.add(std::vector<double>(100, 1 + 0x1p-11), std::vector<double>(100, 1.0));
  EXPECT_EQ(errors.bound().absolute, 0);
  EXPECT_EQ(errors.bound().relative, 0);
  EXPECT_EQ(errors.largest_error(), 0x1p-11);
}

TEST(OwnErrors, ThatAreFewGiveTheLargest) {
  OwnErrors errors(ScalarType::float32);
  errors.add(std::vector<double>{1, 100}, std::vector<double>{1 + 1e-5, 100 + 1e-3});
  EXPECT_EQ(errors.bound().relative, 0);
  EXPECT_NEAR(errors.bound().absolute, 1e-3, 1e-5);
}

TEST(OwnErrors, KeepsWhatIsNotANumber) {
  OwnErrors errors(ScalarType::float32);
  errors.add(std::vector<double>{1, 2, 3}, std::vector<double>{1, std::nan(""), 3.5});
  EXPECT_FALSE(errors.largest_error() <= 1e30);
}

TEST(DerivedTolerance, IsSoManyTimesTheErrorAndSaysHowItCameAbout) {
  const DerivedTolerance derived = {.problem = "N=4",
                                    .output = "out",
                                    .truth = "naive in double precision",
                                    .factor = 16,
                                    .absolute = 1e-4,
                                    .relative = 0,
                                    .largest_error = 1.2e-4,
                                    .largest_value = 50,
                                    .elements = 128,
                                    .data_sets = 2};
  EXPECT_EQ(tolerance_of(derived, 2).absolute, 2e-4);
  EXPECT_EQ(tolerance_of(derived, 2).ulps, 4);
  EXPECT_THAT(describe(derived), HasSubstr("out on N=4: an element may differ from naive in double "
                                           "precision by 0.0016 + 4 ulps, 16 times"));
}

}  // namespace
}  // namespace smemtune
