#include "tuner/core/measurement.h"

#include "tuner/core/hash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace smemtune {
namespace {

/// Returns 1, 2, ..., n.
std::vector<double> first_numbers(std::size_t n) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(2.5, quantile({4, 1, 3, 2}, 0.5));
  EXPECT_DOUBLE_EQ(1.75, quantile({4, 1, 3, 2}, 0.25));
  EXPECT_DOUBLE_EQ(1, quantile({4, 1, 3, 2}, 0));
  EXPECT_DOUBLE_EQ(4, quantile({4, 1, 3, 2}, 1));
  EXPECT_DOUBLE_EQ(7, quantile({7}, 0.9));
}

TEST(Summarize, GivesTheStatisticsOfTheSamples) {
  const std::vector<double> samples = {5, 1, 4, 2, 8};
  const Measurement measurement = summarize(samples, 3);
  EXPECT_EQ(samples, measurement.samples_ms);
  EXPECT_EQ(3, measurement.launches_per_sample);
  EXPECT_DOUBLE_EQ(4, measurement.median_ms);
  EXPECT_DOUBLE_EQ(1, measurement.min_ms);
  EXPECT_DOUBLE_EQ(8, measurement.max_ms);
  EXPECT_DOUBLE_EQ(4, measurement.mean_ms);
  EXPECT_DOUBLE_EQ(2, measurement.q1_ms);
  EXPECT_DOUBLE_EQ(5, measurement.q3_ms);
  EXPECT_DOUBLE_EQ(75, measurement.spread_percent());
}

TEST(MedianInterval, IsTheWholeRangeBelowSixSamples) {
  const Measurement measurement = summarize(first_numbers(5));
  EXPECT_DOUBLE_EQ(1, measurement.median_low_ms);
  EXPECT_DOUBLE_EQ(5, measurement.median_high_ms);
}

// Ranks from the binomial distribution (n, 1/2): the largest r with P(X <= r - 1) <= 2.5 %.
TEST(MedianInterval, HasTheRanksOfTheBinomialDistribution) {
  const std::vector<std::pair<std::size_t, double>> ranks = {
      {6, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3}, {20, 6}, {25, 8}, {31, 10}, {60, 22}, {100, 40}};
  for (const auto& [n, rank] : ranks) {
    const Measurement measurement = summarize(first_numbers(n));
    EXPECT_DOUBLE_EQ(rank, measurement.median_low_ms) << n;
    EXPECT_DOUBLE_EQ(static_cast<double>(n) + 1 - rank, measurement.median_high_ms) << n;
  }
}

// For the last of these, 2^-n is too small for a double.
TEST(MedianInterval, NarrowsAsTheRootOfManySamples) {
  for (const std::size_t n : {1'000u, 10'000u}) {
    const Measurement measurement = summarize(first_numbers(n));
    const double width = measurement.median_high_ms - measurement.median_low_ms;
    EXPECT_NEAR(1.96 * std::sqrt(static_cast<double>(n)), width, 3) << n;
  }
}

TEST(MedianInterval, CoversTheTrueMedianInNineteenOfTwentyExperiments) {
  int covered = 0;
  for (std::uint64_t experiment = 0; experiment < 4'000; ++experiment) {
    std::vector<double> samples;
    for (std::uint64_t i = 0; i < 31; ++i) {
      samples.push_back(1 + static_cast<double>(random_bits(experiment, i) >> 11) * 0x1p-53);
    }
    const Measurement measurement = summarize(samples);
    if (measurement.median_low_ms <= 1.5 && 1.5 <= measurement.median_high_ms) ++covered;
  }
  EXPECT_GE(covered, 3'800);
  EXPECT_LE(covered, 3'950);  // 97.1 % are expected: the next narrower interval has less than 95 %.
}

}  // namespace
}  // namespace smemtune
