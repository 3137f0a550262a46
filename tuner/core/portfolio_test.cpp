#include "tuner/core/portfolio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace smemtune {
namespace {

using testing::ElementsAre;

constexpr double kNotRun = std::numeric_limits<double>::infinity();
const double kUnknown = std::nan("");

/// Returns a table in which a case's best is the best of the variants.
TimeTable table(std::vector<std::vector<double>> ms) {
  TimeTable table{.ms = std::move(ms), .best_ms = {}};
  for (const auto& times : table.ms) {
    double best = kNotRun;
    for (const double time : times) best = std::fmin(best, time);
    table.best_ms.push_back(best);
  }
  return table;
}

TEST(Portfolio, OfOneLosesLeastInTheGeometricMean) {
  const auto one = best_portfolio(table({{1, 2, 1.1}, {8, 4, 4.2}}), 1);
  ASSERT_TRUE(one);
  EXPECT_THAT(one->choice, ElementsAre(2, 2));
  EXPECT_NEAR(one->mean_percent, 100 * (std::sqrt(1.1 * 1.05) - 1), 1e-9);
  EXPECT_NEAR(one->worst_percent, 10, 1e-9);
}

TEST(Portfolio, OfTwoSharesTheCasesOut) {
  // Variant 0 is planted as the best for the first two cases, 3 for the others; 1 and 2 are in
  // between.
  const TimeTable planted =
      table({{1, 1.3, 1.2, 3}, {1, 1.2, 1.3, 4}, {5, 1.2, 1.3, 1}, {6, 1.3, 1.2, 1}});
  const auto two = best_portfolio(planted, 2);
  ASSERT_TRUE(two);
  EXPECT_THAT(two->choice, ElementsAre(0, 0, 3, 3));
  EXPECT_THAT(two->variants(), ElementsAre(0, 3));
  EXPECT_DOUBLE_EQ(two->mean_percent, 0);
  EXPECT_EQ(best_portfolio(planted, 9)->variants(), two->variants()) << "no more than are of use";
}

TEST(Portfolio, RunsInEveryCase) {
  const TimeTable partly = table({{1, kNotRun, 9}, {kUnknown, 1, 9}});
  EXPECT_THAT(best_portfolio(partly, 1)->choice, ElementsAre(2, 2));
  EXPECT_THAT(best_portfolio(partly, 2)->choice, ElementsAre(0, 1));
  EXPECT_FALSE(best_portfolio(table({{1, 2}, {kNotRun, kUnknown}}), 2));
  EXPECT_FALSE(best_portfolio({}, 1));
}

TEST(Portfolio, ByExchangeIsAsGoodAsTheBestOfAllSetsOrNearlySo) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> time(1, 4);
  TimeTable many;
  for (int in = 0; in < 24; ++in) {
    many.ms.emplace_back();
    for (int i = 0; i < 60; ++i) many.ms.back().push_back(time(random));
    many.best_ms.push_back(*std::ranges::min_element(many.ms.back()));
  }
  const auto three = best_portfolio(many, 3);  // 34,220 sets.
  ASSERT_TRUE(three && three->is_exact);
  const auto four = best_portfolio(many, 4);  // 487,635 sets.
  ASSERT_TRUE(four && !four->is_exact);
  EXPECT_LT(four->mean_percent, three->mean_percent);
  // No exchange of one variant helps.
  const std::vector<std::size_t> chosen = four->variants();
  for (std::size_t out = 0; out < chosen.size(); ++out) {
    for (std::size_t in = 0; in < many.variants(); ++in) {
      std::vector<std::size_t> others = chosen;
      others[out] = in;
      std::vector<std::size_t> choice;
      for (std::size_t i = 0; i < many.cases(); ++i) {
        choice.push_back(*std::ranges::min_element(
            others, {}, [&](std::size_t variant) { return many.loss(i, variant); }));
      }
      EXPECT_GE(portfolio_of(many, choice).mean_percent, four->mean_percent - 1e-9);
    }
  }
}

TEST(LeastWorst, IsNotWhatLosesLeastInTheMean) {
  // Variant 0 loses 0, 0 and 44 %; variant 1 loses 20 % everywhere.
  const TimeTable devices = table({{1, 1.2, 9}, {1, 1.2, 9}, {1.44, 1.2, 1}});
  EXPECT_EQ(least_worst(devices), 1);
  EXPECT_THAT(best_portfolio(devices, 1)->choice, ElementsAre(0, 0, 0));
  EXPECT_EQ(least_worst(table({{1, 2}, {kNotRun, kUnknown}})), std::nullopt);
}

TEST(PerformancePortability, IsTheHarmonicMeanOfTheShares) {
  const TimeTable devices = table({{1, 2, 1}, {4, 1, kNotRun}});
  EXPECT_DOUBLE_EQ(performance_portability(devices, 0), 2 / (1 + 4.0));
  EXPECT_DOUBLE_EQ(performance_portability(devices, 1), 2 / (2 + 1.0));
  EXPECT_DOUBLE_EQ(performance_portability(devices, 2), 0);
  EXPECT_EQ(most_portable(devices), 1);
}

TEST(TimeTable, TakesAScreenThatBeatsTheFinalsForThem) {
  const TimeTable one{.ms = {{0.9, 2, kNotRun, kUnknown}}, .best_ms = {1}};
  EXPECT_EQ(one.share(0, 0), 1);
  EXPECT_EQ(one.loss(0, 0), 0);
  EXPECT_EQ(one.share(0, 1), 0.5);
  EXPECT_EQ(one.share(0, 2), 0);
  EXPECT_TRUE(std::isnan(one.share(0, 3)));
}

}  // namespace
}  // namespace smemtune
