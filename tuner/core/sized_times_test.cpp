#include "tuner/core/sized_times.h"

#include "tuner/core/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace smemtune {
namespace {

using testing::ElementsAre;

constexpr double kDoesNotRun = std::numeric_limits<double>::infinity();
const double kNotMeasured = std::nan("");

/// Returns times for sizes that each are the double of the one before. The first variant is the
/// default.
SizedTimes sized(std::vector<std::vector<double>> ms) {
  SizedTimes times;
  for (const auto& of_case : ms) {
    double best = kDoesNotRun;
    for (const double time : of_case) best = std::fmin(best, time);
    times.table.best_ms.push_back(best);
    times.problems.push_back({{"N", std::int64_t{1024} << times.problems.size()}});
  }
  times.table.ms = std::move(ms);
  times.defaults = {0};
  return times;
}

TEST(HeldBackSizes, LoseLessThanWithTheNearestBest) {
  // Variant 1 is good for the small sizes and 2 for the large ones; 3 is the best of one size and
  // slow at the others.
  const SizedTimes times = sized(
      {{2, 1, 3, 5}, {2, 1, 3, 5}, {2, 1.2, 1.9, 1}, {2, 1.2, 1.9, 9}, {2, 3, 1, 9}, {2, 3, 1, 9}});
  const auto nearest = held_back(times, 0, nearest_best(times));
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->cases, 6u);
  EXPECT_EQ(nearest->with_default, 6u);
  EXPECT_GT(nearest->slower, 0u);
  EXPECT_GT(nearest->worst_to_default_percent, 100);
  const auto selected = held_back(times, 0, selection_of(times, 0));
  ASSERT_TRUE(selected);
  EXPECT_EQ(selected->slower, 0u);
  EXPECT_EQ(selected->worst_to_default_percent, 0);
  EXPECT_LT(selected->mean_percent, nearest->mean_percent);
  const auto defaults = held_back(times, 0, default_values(times));
  ASSERT_TRUE(defaults);
  EXPECT_EQ(defaults->slower, 0u);
  EXPECT_LT(selected->mean_percent, defaults->mean_percent);
}

TEST(HeldBackSizes, AreFarWhereNearOnesAreHeldBackToo) {
  // Variant 1 is slow at the last sizes, which those near them say, and the others do not.
  const SizedTimes times = sized({{2, 1}, {2, 1}, {2, 1}, {2, 1}, {2, 8}, {2, 8}});
  const auto near = held_back(times, 0, selection_of(times, 0));
  const auto far = held_back(times, 3, selection_of(times, 0));
  ASSERT_TRUE(near && far);
  EXPECT_LT(near->mean_percent, far->mean_percent);
  EXPECT_FALSE(held_back(times, 9, nearest_best(times))) << "nothing is left";
}

TEST(HeldBackSizes, CountOnlyWhatWasMeasured) {
  const SizedTimes times =
      sized({{2, 1, kNotMeasured}, {2, kNotMeasured, 1}, {2, kNotMeasured, 1}});
  const auto nearest = held_back(times, 0, nearest_best(times));
  ASSERT_TRUE(nearest);
  EXPECT_EQ(nearest->cases, 1u);
}

TEST(PredictedTimes, StandOnlyWhereNothingIsKnown) {
  const SizedTimes times =
      sized({{2, 1, kNotMeasured, 5}, {2, kNotMeasured, 1, 5}, {kNotMeasured, kDoesNotRun, 1, 5}});
  std::vector<std::size_t> all(3);
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_THAT(candidates_of(times, all), ElementsAre(0, 1, 2));
  const TimeTable table = with_predicted_times(times, candidates_of(times, all));
  EXPECT_EQ(table.ms[0][1], 1);
  EXPECT_TRUE(std::isinf(table.ms[2][1]));
  EXPECT_TRUE(std::isinf(table.ms[0][3])) << "is no candidate";
  // Twice as slow as the best at the two sizes where it was measured.
  EXPECT_DOUBLE_EQ(table.ms[2][0], 2);
  EXPECT_DOUBLE_EQ(table.ms[0][2], 1) << "the best at both other sizes";
  EXPECT_DOUBLE_EQ(table.ms[1][1], (1 + kMostToBest) / 2)
      << "the best at one size beside it, and does not run at the other";
}

}  // namespace
}  // namespace smemtune
