#include "tuner/core/measurement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

using Noise = std::function<double(std::mt19937&)>;

/// Returns random times around `ms`, the median of the distribution.
Measurement times(double ms, const Noise& noise, std::size_t count, std::mt19937& random) {
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(ms * std::exp(0.02 * noise(random)));
  return summarize(all);
}

double normal(std::mt19937& random) { return std::normal_distribution<double>()(random); }
double skewed(std::mt19937& random) {
  return std::exponential_distribution<double>()(random) - std::log(2.0);
}
double outliers(std::mt19937& random) {
  return normal(random) + (random() % 8 == 0 ? 20 * std::abs(normal(random)) : 0);
}

TEST(Slowdown, IsTheRatioOfTheMediansWithinItsInterval) {
  std::mt19937 random(1);
  const Noise noises[] = {normal, skewed, outliers};
  for (int i = 0; i < 3000; ++i) {
    const Noise& noise = noises[random() % 3];
    const Measurement one = times(1.05, noise, 3 + random() % 60, random);
    const Measurement other = times(1, noise, 3 + random() % 60, random);
    const auto found = slowdown(one, other);
    ASSERT_TRUE(found);
    EXPECT_NEAR(1 + found->percent / 100, one.median_ms / other.median_ms, 1e-12);
    EXPECT_LE(found->low_percent, found->percent);
    EXPECT_GE(found->high_percent, found->percent);
    const auto other_way = slowdown(other, one);
    EXPECT_NEAR((1 + found->low_percent / 100) * (1 + other_way->high_percent / 100), 1, 1e-12);
  }
}

TEST(Slowdown, HasTheTrueRatioInItsInterval) {
  std::mt19937 random(2);
  for (const auto& [one_count, other_count] :
       {std::pair(3, 3), {3, 120}, {4, 4}, {5, 60}, {6, 6}, {20, 30}, {60, 120}}) {
    for (const Noise& noise : {Noise(normal), Noise(skewed)}) {
      int covered = 0;
      for (int i = 0; i < 2000; ++i) {
        const auto found = slowdown(times(1.05, noise, static_cast<std::size_t>(one_count), random),
                                    times(1, noise, static_cast<std::size_t>(other_count), random));
        covered += found->low_percent <= 5 && 5 <= found->high_percent ? 1 : 0;
      }
      EXPECT_GE(covered, 1880) << one_count << ", " << other_count << ": 95 % of 2000 are 1900";
    }
  }
}

TEST(Slowdown, NeedsEnoughSamples) {
  const Measurement two = summarize(std::vector<double>{1, 1.1});
  Measurement five = summarize(std::vector<double>{2, 2.1, 2.2, 2.3, 2.4});
  EXPECT_FALSE(slowdown(two, five));
  EXPECT_FALSE(slowdown(five, told_time(2)));
  EXPECT_FALSE(slowdown({}, five));
  five.samples_ms.clear();  // The number of samples is still known.
  const auto found = slowdown(five, five);
  ASSERT_TRUE(found);
  EXPECT_GT(found->high_percent, 100 * (2.4 / 2.2 - 1)) << "wider, as 5 are few";
}

TEST(VerdictOf, IsWhereTheWholeIntervalLies) {
  const auto verdict = [](double low, double high) {
    return verdict_of(Slowdown{(low + high) / 2, low, high}, 1);
  };
  EXPECT_EQ(verdict(2, 3), Verdict::slower);
  EXPECT_EQ(verdict(-3, -2), Verdict::faster);
  EXPECT_EQ(verdict(0.2, 0.9), Verdict::same);
  EXPECT_EQ(verdict(0.5, 1.5), Verdict::cannot_be_told);
  EXPECT_EQ(verdict(-5, 5), Verdict::cannot_be_told);
  EXPECT_EQ(verdict_of(std::nullopt, 1), Verdict::cannot_be_told);
}

TEST(VerdictText, SaysByHowMuch) {
  EXPECT_EQ(verdict_text(Slowdown{2.5, 2, 3}, 1), "2.5 % slower (2.0 to 3.0 %)");
  EXPECT_EQ(verdict_text(Slowdown{-2.5, -3, -2}, 1), "2.5 % faster (2.0 to 3.0 %)");
  EXPECT_EQ(verdict_text(Slowdown{1944.9, 1938.5, 1953.5}, 1),
            "takes 20.4x the time (20.4 to 20.5x)");
  EXPECT_EQ(verdict_text(Slowdown{0, -0.2, 0.5}, 1), "the same (-0.2 to 0.5 %)");
  EXPECT_EQ(verdict_text(Slowdown{0, -0.01, 0.01}, 1), "the same (0.0 to 0.0 %)");
  EXPECT_EQ(verdict_text(Slowdown{0, -3, 2}, 1), "cannot be told (-3.0 to 2.0 %)");
  EXPECT_EQ(verdict_text(std::nullopt, 1), "cannot be told (too few samples)");
}

}  // namespace
}  // namespace smemtune
