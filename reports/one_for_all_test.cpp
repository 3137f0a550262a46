#include "reports/portfolio_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace smemtune {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Result timed(std::int64_t n, const std::string& kernel, std::int64_t tile, double ms,
             Stage stage = Stage::screen) {
  Result result;
  result.kernel = kernel;
  result.problem = {{"N", n}};
  result.configuration = {{"TILE", tile}};
  result.stage = stage;
  result.measurement.median_ms = ms;
  return result;
}

std::optional<OneForAll> one_of(const std::vector<Result>& results) {
  std::map<Problem, std::vector<Result>> by_problem;
  for (const Result& result : results) by_problem[result.problem].push_back(result);
  TuningSummary summary;
  for (const auto& [problem, its] : by_problem) {
    ProblemSummary& added = summary.problems.emplace_back();
    added.problem = problem;
    added.results = its;
    std::vector<RunResult> ranked;
    for (const Result& result : its) ranked.push_back({&result});
    for (const Result* best : best_of_each_kernel(ranked)) added.bests.kernels.push_back(*best);
  }
  return one_for_all(summary);
}

TEST(OneForAllOf, LosesLeastInTheGeometricMean) {
  // TILE=1 is best for 100 and bad for 200, TILE=2 the other way round; TILE=3 loses a little
  // everywhere.
  const auto one = one_of({timed(100, "tiled", 1, 1.0), timed(200, "tiled", 1, 8.0),
                           timed(100, "tiled", 2, 2.0), timed(200, "tiled", 2, 4.0),
                           timed(100, "tiled", 3, 1.1), timed(200, "tiled", 3, 4.2)});
  ASSERT_TRUE(one);
  EXPECT_EQ(key(one->configuration), "TILE=3");
  EXPECT_NEAR(one->worst_percent, 10, 1e-9);
  EXPECT_NEAR(one->mean_percent, 100 * (std::sqrt(1.1 * 1.05) - 1), 1e-9);
  ASSERT_THAT(one->losses, SizeIs(2));
  EXPECT_EQ(key(one->losses[1].problem), "N=200");
  EXPECT_DOUBLE_EQ(one->losses[1].best_ms, 4.0);
  EXPECT_NEAR(one->losses[1].percent, 5, 1e-9);
  const std::string text = one_for_all_text(*one);
  EXPECT_THAT(text, HasSubstr("one for all 2 problems: tiled TILE=3"));
  EXPECT_THAT(
      text,
      HasSubstr("  of 3 timed on each it loses least: 7.5 % (geometric mean), 10.0 % at worst\n"));
}

TEST(OneForAllOf, IsRightOnEveryProblem) {
  Result wrong = timed(200, "tiled", 1, 0);
  wrong.status = Status::correctness;
  wrong.stage = Stage::none;
  const std::vector<Result> results = {timed(100, "tiled", 1, 1.0), wrong,
                                       timed(100, "tiled", 2, 9.0), timed(200, "tiled", 2, 9.0),
                                       timed(100, "tiled", 3, 1.0)};
  const auto one = one_of(results);
  ASSERT_TRUE(one);
  EXPECT_EQ(key(one->configuration), "TILE=2");
  EXPECT_EQ(one->candidates, 1u);
}

TEST(OneForAllOf, IsNoneWhereNothingRunsOnAll) {
  EXPECT_FALSE(one_of({}));
  EXPECT_FALSE(one_of({timed(100, "tiled", 1, 1.0)})) << "one problem has its best";
  EXPECT_FALSE(one_of({timed(100, "tiled", 1, 1.0), timed(200, "tiled", 2, 1.0)}));
}

TEST(OneForAllOf, TakesTheLaterOfTwoResultsAndTheBestFromFinals) {
  Result chosen = timed(100, "tiled", 1, 2.0, Stage::final);
  chosen.chosen = true;
  const auto one = one_of({timed(100, "tiled", 1, 5.0), chosen,
                           timed(200, "tiled", 1, 2.0, Stage::final), timed(100, "tiled", 2, 1.9)});
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->losses[0].median_ms, 2.0);
  EXPECT_DOUBLE_EQ(one->losses[0].best_ms, 2.0) << "the screened 1.9 was not in the finals";
}

}  // namespace
}  // namespace smemtune
