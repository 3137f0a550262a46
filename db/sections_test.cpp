#include "db/sections.h"

#include "db/planted_results_test_support.h"
#include "db/result_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace smemtune::db {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr std::size_t kAll = 1000;

Result at_stage(Stage stage, std::int64_t value, double ms) {
  Result result = planted(tile(value), ms);
  result.stage = stage;
  return result;
}

Result lost(std::int64_t value) {
  Result result = planted_failure(tile(value));
  result.status = Status::runtime;
  result.reason = "lost";
  return result;
}

struct Store : testing::Test {
  /// Stores one run with these results.
  void run(const std::string& id, const std::vector<Result>& results,
           const std::string& hash = "one", const std::string& device = "H200") {
    const auto log = store.begin_run(planted_run(planted_device(device), id));
    for (const Result& result : results) log->record(hash, result);
  }

  ResultStore store{":memory:"};
};

using Sections = Store;

TEST_F(Sections, TakeTheNewestOfEachConfigurationAndNoFailureThatMayPass) {
  run("first", {planted(tile(16), 4), planted(tile(32), 2), planted_failure(tile(48))});
  run("second", {planted(tile(16), 3), lost(32)});
  const auto sections = store.sections({}, kAll);
  ASSERT_EQ(sections.size(), 1u);
  const ProblemResults& section = sections[0];
  ASSERT_EQ(section.results.size(), 3u);
  EXPECT_DOUBLE_EQ(section.results[0].result.measurement.median_ms, 3);
  EXPECT_TRUE(section.results[1].result.timed());
  EXPECT_TRUE(section.results[2].result.failed());
  EXPECT_EQ(section.configurations, 3u);
  EXPECT_EQ(section.timed, 2u);
  EXPECT_THAT(
      section.failures,
      ElementsAre(Pair(ProblemResults::Failure{"tiled", "constraints", "shared_bytes"}, 1u)));
  ASSERT_EQ(section.best.size(), 1u);
  EXPECT_EQ(key(section.best[0].result.configuration), "TILE=32");
}

TEST_F(Sections, OfOneDeviceAreReadWithoutThoseOfOthers) {
  std::vector<Result> results;
  for (std::int64_t i = 1; i <= 100; ++i) results.push_back(planted(tile(i), 1));
  run("first", results);
  run("second", results, "one", "H100");
  const auto sections = store.sections({.device = "H200"}, 100);
  ASSERT_EQ(sections.size(), 1u);
  EXPECT_EQ(sections[0].results.size(), 100u);
}

using Newest = Store;

TEST_F(Newest, OfEachConfigurationComeInTheOrderOfTheFirstWithoutStaleOnes) {
  Result right = planted(tile(48), 1);
  right.stage = Stage::none;
  run("edited", {planted(tile(64), 1)}, "zero");
  run("first", {planted(tile(32), 2), planted(tile(16), 4), right});
  run("second", {planted(tile(16), 3), planted_failure(tile(24)), lost(32)});
  std::vector<std::pair<std::string, Status>> newest;
  store.each_newest({}, [&](StoredResult&& one) {
    newest.emplace_back(key(one.result.configuration), one.result.status);
  });
  EXPECT_THAT(newest,
              ElementsAre(Pair("TILE=32", Status::runtime), Pair("TILE=16", Status::correct),
                          Pair("TILE=24", Status::constraints)));
  std::vector<bool> stale;
  for (const StoredResult& one : store.one_of_each_kernel({})) stale.push_back(one.stale);
  EXPECT_THAT(stale, testing::UnorderedElementsAre(true, false));
}

TEST_F(Sections, CountAFailureThatMayPassWhereThereIsNothingElse) {
  run("first", {lost(32)});
  EXPECT_EQ(store.sections({}, kAll)[0].failures.size(), 1u);
}

TEST_F(Sections, LeaveOutKernelsAsTheyWere) {
  run("first", {planted(tile(16), 1)}, "old");
  run("second", {planted(tile(16), 2)}, "new");
  const auto sections = store.sections({}, kAll);
  ASSERT_EQ(sections.size(), 1u);
  EXPECT_DOUBLE_EQ(sections[0].results[0].result.measurement.median_ms, 2);
}

TEST_F(Sections, AreOneForEachProblemAndDeviceThatTheQueryMeans) {
  run("first", {planted(tile(16), 1), planted(tile(16), 1, /*n=*/64)});
  run("second", {planted(tile(16), 2)}, "one", "A100");
  EXPECT_EQ(store.sections({}, kAll).size(), 3u);
  EXPECT_EQ(store.sections({.device = "a100"}, kAll).size(), 1u);
  EXPECT_EQ(store.sections({.problem = "N=64"}, kAll).size(), 1u);
  EXPECT_EQ(store.sections({.run = "second"}, kAll)[0].device.name, "A100");
  EXPECT_EQ(store.sections({.kernel = "other"}, kAll).size(), 0u);
}

TEST_F(Sections, ReadAnEvenChoiceOfManyWithAllFinalistsAndDefaults) {
  std::vector<Result> results;
  for (std::int64_t value = 1; value <= 1000; ++value) results.push_back(planted(tile(value), 5));
  results[500] = at_stage(Stage::final, 501, 1);
  results[14].is_default = true;
  results[15] = planted_failure(tile(16));
  run("first", results);
  const ProblemResults section = store.sections({}, 100)[0];
  EXPECT_EQ(section.configurations, 1000u);
  EXPECT_EQ(section.timed, 999u);
  EXPECT_LE(section.results.size(), 102u);
  EXPECT_GE(section.results.size(), 100u);
  std::vector<std::int64_t> values;
  for (const StoredResult& one : section.results) {
    values.push_back(std::get<std::int64_t>(one.result.configuration.at("TILE")));
  }
  EXPECT_THAT(values, testing::IsSupersetOf({15, 501}));
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end())) << "in the order they were met";
  EXPECT_GT(values.back(), 900) << "evenly";
  std::map<std::int64_t, int> of_eight;
  for (const std::int64_t value : values) ++of_eight[value % 8];
  EXPECT_EQ(of_eight.size(), 8u) << "not in step with values that repeat";
}

TEST_F(Sections, ShareTheMostThatIsReadWithAtLeastFiftyOfEach) {
  std::vector<Result> results;
  for (std::int64_t value = 1; value <= 200; ++value) {
    for (const std::int64_t n : {64, 4096}) results.push_back(planted(tile(value), 5, n));
  }
  run("first", results);
  for (const auto& [most, each] :
       {std::pair(10u, 50u), std::pair(240u, 120u), std::pair(100'000u, 200u)}) {
    for (const ProblemResults& section : store.sections({}, most)) {
      EXPECT_EQ(section.results.size(), each) << most;
    }
  }
}

TEST_F(Sections, FollowTheBestSoFarWithoutFinals) {
  run("first", {planted(tile(1), 9), planted(tile(2), 5), planted(tile(3), 7)});
  run("second", {planted(tile(4), 4), at_stage(Stage::final, 2, 3)});
  std::vector<std::pair<std::uint64_t, double>> steps;
  double seconds = 0;
  const ProblemResults section = store.sections({}, kAll)[0];
  for (const ProblemResults::Step& step : section.convergence) {
    steps.emplace_back(step.evaluations, std::round(step.best_ms));
    EXPECT_GE(step.seconds, seconds);
    seconds = step.seconds;
  }
  EXPECT_THAT(steps, ElementsAre(Pair(1, 9), Pair(2, 5), Pair(4, 4), Pair(4, 4)));
}

TEST_F(Sections, CountNoSecondsBeforeTheProblemsTurn) {
  // The planted run began in 1970.
  run("first", {planted(tile(1), 9, /*n=*/64), planted(tile(1), 9)});
  EXPECT_GT(store.sections({.problem = "N=64"}, kAll)[0].convergence.back().seconds, 1e6);
  EXPECT_LT(store.sections({.problem = "N=4096"}, kAll)[0].convergence.back().seconds, 100);
}

}  // namespace
}  // namespace smemtune::db
