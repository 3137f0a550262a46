#include "tuner/core/change_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace smemtune {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Returns numbers around 1 with a heavy tail upwards, as times have.
std::vector<double> noisy(std::size_t count, double percent, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> tail(0, 1);
  std::vector<double> series;
  for (std::size_t i = 0; i < count; ++i) series.push_back(1 + percent / 100 * tail(random));
  return series;
}

TEST(ChangePoints, AreFoundInLessThanOnePercentOfStableSeries) {
  for (const std::size_t count : {11u, 20u, 60u}) {
    int alarms = 0;
    constexpr int kSeries = 1000;
    for (int i = 0; i < kSeries; ++i) {
      alarms +=
          !change_points(noisy(count, 2, 1000 * count + static_cast<std::size_t>(i)), 0).empty();
    }
    EXPECT_LT(alarms, kSeries / 100) << count << " numbers";
  }
}

TEST(ChangePoints, AreFoundWhereTheyArePlanted) {
  std::vector<double> series = noisy(30, 0.5, 7);
  for (std::size_t i = 12; i < 30; ++i) series[i] *= 1.08;
  const std::vector<ChangePoint> changes = change_points(series);
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].first, 12u);
  EXPECT_NEAR(changes[0].percent(), 8, 1);
  EXPECT_LE(changes[0].p, 0.005);
}

TEST(ChangePoints, AreSeveralWhereThereAreSeveral) {
  std::vector<double> series = noisy(60, 0.3, 8);
  for (std::size_t i = 20; i < 40; ++i) series[i] *= 0.9;
  const std::vector<ChangePoint> changes = change_points(series);
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].first, 20u);
  EXPECT_NEAR(changes[0].percent(), -10, 1);
  EXPECT_EQ(changes[1].first, 40u);
  EXPECT_NEAR(changes[1].percent(), 11, 1.5);
}

TEST(ChangePoints, AreNotOfTooFewNumbersNorTooSmall) {
  std::vector<double> ten(10, 1.0);
  for (std::size_t i = 5; i < 10; ++i) ten[i] = 2;
  EXPECT_THAT(change_points(ten), IsEmpty());
  ten.push_back(2);
  EXPECT_THAT(change_points(ten), SizeIs(1));
  std::vector<double> small(40, 1.0);
  for (std::size_t i = 20; i < 40; ++i) small[i] = 1.005;
  EXPECT_THAT(change_points(small), IsEmpty());
  EXPECT_THAT(change_points(small, 0.2), SizeIs(1));
  EXPECT_THAT(change_points(std::vector<double>(40, 1.0)), IsEmpty());
  EXPECT_THAT(change_points({}), IsEmpty());
}

}  // namespace
}  // namespace smemtune
