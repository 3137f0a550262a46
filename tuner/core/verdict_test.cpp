#include "tuner/core/verdict.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace smemtune {
namespace {

std::vector<double> times(double ms, double spread, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(ms, ms * spread);
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(noise(random));
  return all;
}

TEST(Slowdown, HasTheRatioInItsInterval) {
  int covered = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto found = slowdown(times(1.05, 0.02, 20, 2 * seed), times(1, 0.02, 30, 2 * seed + 1));
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->percent, 5, 3);
    covered += found->low_percent <= 5 && 5 <= found->high_percent ? 1 : 0;
  }
  EXPECT_GE(covered, 182) << "95 % of 200 are 190";
}

TEST(Slowdown, NeedsEnoughTimes) {
  const std::vector<double> three = {1, 1.1, 1.2};
  const std::vector<double> five = {2, 2.1, 2.2, 2.3, 2.4};
  EXPECT_FALSE(slowdown(three, three));
  EXPECT_FALSE(slowdown({}, five));
  const auto found = slowdown(five, three);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->low_percent, 100 * (2 / 1.2 - 1), 1e-9) << "all ratios, as there are few";
  EXPECT_NEAR(found->high_percent, 140, 1e-9);
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
  EXPECT_EQ(verdict_text(Slowdown{0, -0.2, 0.5}, 1), "the same (-0.2 to 0.5 %)");
  EXPECT_EQ(verdict_text(Slowdown{0, -0.01, 0.01}, 1), "the same (0.0 to 0.0 %)");
  EXPECT_EQ(verdict_text(Slowdown{0, -3, 2}, 1), "cannot be told (-3.0 to 2.0 %)");
  EXPECT_EQ(verdict_text(std::nullopt, 1), "cannot be told (too few samples)");
}

}  // namespace
}  // namespace smemtune
