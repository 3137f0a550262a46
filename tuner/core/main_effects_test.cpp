#include "tuner/core/main_effects.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace smemtune {
namespace {

std::vector<MainEffect> effects(const std::vector<Configuration>& configurations,
                                const std::vector<double>& ms) {
  std::vector<const Configuration*> pointers;
  for (const Configuration& one : configurations) pointers.push_back(&one);
  return MainEffects(pointers).of(ms);
}

TEST(MainEffects, FindPlantedOnes) {
  // log time = 2 A + B, so that the variances are 4 : 1. C has no effect, D has one value.
  std::vector<Configuration> all;
  std::vector<double> ms;
  for (std::int64_t a : {-1, 1}) {
    for (std::int64_t b : {-1, 1}) {
      for (std::int64_t c = 0; c < 4; ++c) {
        all.push_back({{"A", a}, {"B", b}, {"C", c}, {"D", "x"}});
        ms.push_back(std::exp(static_cast<double>(2 * a + b)));
      }
    }
  }
  const auto found = effects(all, ms);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].parameter, "A");
  EXPECT_NEAR(found[0].explained, 0.8, 0.02);
  EXPECT_EQ(found[1].parameter, "B");
  EXPECT_NEAR(found[1].explained, 0.2, 0.06);
  EXPECT_EQ(found[2].explained, 0);
}

TEST(MainEffects, TakeNoChanceForAnEffect) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 1);
  std::vector<Configuration> all;
  std::vector<double> ms;
  for (std::int64_t i = 0; i < 200; ++i) {
    all.push_back({{"A", i % 40}, {"B", i}});
    ms.push_back(std::exp(noise(random)));
  }
  for (const MainEffect& effect : effects(all, ms)) {
    EXPECT_LT(effect.explained, 0.15) << effect.parameter;
  }
}

TEST(MainEffects, LeaveOutWhatDoesNotRun) {
  std::vector<Configuration> all;
  std::vector<double> ms;
  for (std::int64_t i = 0; i < 12; ++i) {
    all.push_back({{"A", i % 2}});
    ms.push_back(1 + static_cast<double>(i % 2) + 0.01 * static_cast<double>(i));
  }
  all.push_back({{"A", 3}});
  ms.push_back(std::numeric_limits<double>::infinity());
  const auto found = effects(all, ms);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_GT(found[0].explained, 0.9);
  EXPECT_EQ(found[0].configurations, 12u);
  EXPECT_TRUE(effects({}, {}).empty());
}

TEST(MainEffects, AreSilentOfTooFew) {
  std::vector<Configuration> all;
  std::vector<double> ms;
  for (std::int64_t i = 0; i < 11; ++i) {
    all.push_back({{"A", i % 2}});
    ms.push_back(1 + static_cast<double>(i % 2));
  }
  EXPECT_TRUE(effects(all, ms).empty());
  all.push_back({{"A", 1}});
  ms.push_back(2);
  EXPECT_EQ(effects(all, ms).size(), 1u);

  // 16 configurations are too few for 15 parameters.
  all.clear();
  ms.clear();
  for (std::size_t i = 0; i < 16; ++i) {
    Configuration& one = all.emplace_back();
    for (std::size_t p = 0; p < 15; ++p)
      one["P" + std::to_string(p)] = std::int64_t{i % (p + 2) > p / 2};
    ms.push_back(1 + static_cast<double>(i));
  }
  EXPECT_TRUE(effects(all, ms).empty());
}

}  // namespace
}  // namespace smemtune
