#include "reports/value_bars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::HasSubstr;

ProblemSummary tuned() {
  ProblemSummary problem;
  for (const std::int64_t tile : {8, 16, 32}) {
    for (const std::int64_t rows : {1, 2, 3, 4}) {
      Result result;
      result.kernel = "tiled";
      result.configuration = {{"TILE", tile}, {"ROWS", rows}};
      result.stage = Stage::screen;
      result.measurement.median_ms =
          32.0 / static_cast<double>(tile) + 0.01 * static_cast<double>(rows);
      problem.results.push_back(result);
    }
  }
  problem.bests.kernels = {problem.results[8]};
  return problem;
}

TEST(ValueBars, ShowTheBestAndTheMedianOfEachValueOfWhatMatters) {
  const std::string text = value_bars_text(tuned(), 120);
  EXPECT_THAT(text,
              HasSubstr("values of tiled in 12 timed configurations, all of the space tried:\n"));
  EXPECT_THAT(text, HasSubstr("    TILE=8  |###############"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "    TILE=32 |###########################################################-| 100 %\n"));
  EXPECT_THAT(text, HasSubstr("| 25 %  (alone explains 100 % of the variance)\n"));
  EXPECT_LE(text.find("TILE=8"), text.find("TILE=16")) << "values in their order";
}

TEST(ValueBars, SayWhoChoseWhatTheyFollowFrom) {
  ProblemSummary problem = tuned();
  problem.unfinished = Unfinished{.chance_of_better = 0.5, .evaluations = 12, .last_gain = 3};
  EXPECT_THAT(value_bars_text(problem, 120),
              HasSubstr("values of tiled in 12 timed configurations that the search chose:\n"));
  problem.results.resize(11);
  EXPECT_EQ("", value_bars_text(problem, 120)) << "too few";
}

TEST(ValueBars, AreNotDrawnWhereThereIsNoRoomOrNothingToCompare) {
  EXPECT_EQ("", value_bars_text(tuned(), 80));
  EXPECT_EQ("", value_bars_text(tuned(), 0)) << "a pipe";
  ProblemSummary one = tuned();
  one.results.resize(1);
  EXPECT_EQ("", value_bars_text(one, 120));
}

}  // namespace
}  // namespace smemtune
