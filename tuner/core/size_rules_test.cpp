#include "tuner/core/size_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace smemtune {
namespace {

using testing::SizeIs;

Problem problem(std::int64_t m, std::int64_t n, const char* type = "float") {
  return {{"M", m}, {"N", n}, {"T", type}};
}

/// Returns times where variant 1 is the best of small M, 2 of large M with float, and 3 of large M
/// with double; 0 is the default and 20 % behind everywhere.
SizedTimes planted() {
  SizedTimes times;
  for (const std::int64_t m : {16, 64, 1024, 4096}) {
    for (const std::int64_t n : {100, 10000}) {
      for (const char* type : {"float", "double"}) {
        const bool is_small = m < 256;
        const bool is_float = std::string(type) == "float";
        times.problems.push_back(problem(m, n, type));
        times.table.ms.push_back({1.2, is_small ? 1 : 2.0, !is_small && is_float ? 1 : 3.0,
                                  !is_small && !is_float ? 1 : 4.0});
        times.table.best_ms.push_back(1);
      }
    }
  }
  times.defaults = {0};
  return times;
}

SizeRules rules_for(const SizedTimes& times) {
  std::vector<std::size_t> all(times.problems.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return fit_rules(times, all, candidates_of(times, all));
}

TEST(SizeRules, AskNoMoreThanWhatTellsThePlantedRegionsApart) {
  const SizeRules rules = rules_for(planted());
  EXPECT_THAT(rules.nodes, SizeIs(5)) << "two questions and three leaves";
  EXPECT_EQ(rules.variant(problem(30, 500)), 1u);
  EXPECT_EQ(rules.variant(problem(255, 500, "double")), 1u) << "64 and 1024 are as far away";
  EXPECT_EQ(rules.variant(problem(2000, 500)), 2u);
  EXPECT_EQ(rules.variant(problem(2000, 500, "double")), 3u);
}

TEST(SizeRules, HaveTheDefaultValuesOutOfReach) {
  const SizeRules rules = rules_for(planted());
  EXPECT_EQ(rules.variant(problem(8192, 100)), 2u);
  EXPECT_EQ(rules.variant(problem(8193, 100)), 0u);
  EXPECT_EQ(rules.variant(problem(16, 49)), 0u);
  EXPECT_EQ(rules.variant(problem(16, 100, "half")), 0u);
}

TEST(SizeRules, PutNothingAtALeafThatIsSlowerThanTheDefaultValuesThere) {
  SizedTimes times;
  for (const std::int64_t m : {16, 17, 18}) {
    times.problems.push_back(problem(m, 100));
    // 1 is by far the best in the mean of the leaf, were it not for the last case.
    times.table.ms.push_back({2, m == 18 ? 2.1 : 1, 1.9});
    times.table.best_ms.push_back(m == 18 ? 1.9 : 1);
  }
  times.defaults = {0};
  const SizeRules rules = rules_for(times);
  EXPECT_EQ(rules.variant(problem(16, 100)), 1u);
  EXPECT_EQ(rules.variant(problem(18, 100)), 2u);
}

TEST(SizeRules, OfSizesHeldBackFollowTheRegions) {
  const SizedTimes times = planted();
  const auto loss = held_back(times, 0, rules_of(times));
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->cases, times.problems.size());
  EXPECT_EQ(loss->slower, 0u);
  EXPECT_LT(loss->mean_percent, 20);
}

TEST(SizeRules, FillInWhatWasNotMeasured) {
  SizedTimes times = planted();
  for (std::size_t in = 0; in < times.problems.size(); ++in) {
    for (double& ms : times.table.ms[in]) {
      if (ms > 1) ms = std::nan("");
    }
  }
  const SizeRules rules = rules_for(times);
  EXPECT_EQ(rules.variant(problem(16, 100)), 1u);
  EXPECT_EQ(rules.variant(problem(4096, 10000, "double")), 3u);
}

}  // namespace
}  // namespace smemtune
