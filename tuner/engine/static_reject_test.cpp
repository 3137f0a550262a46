#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/seen_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Result timed(double median_ms, std::int64_t spill_bytes, bool serialized = false) {
  Result result;
  result.stage = Stage::screen;
  result.measurement.median_ms = median_ms;
  result.launches.resize(1);
  result.launches[0].resources.spill_store_bytes = spill_bytes;
  result.launches[0].resources.wgmma_serialized = serialized;
  return result;
}

TEST(StaticReject, SaysNothingUntilItHasSeenEnough) {
  StaticReject reject;
  for (int i = 0; i < 31; ++i) reject.tell(timed(1, 0));
  EXPECT_FALSE(rejects(reject.limits(), timed(1, 1 << 20, true)));
  reject.tell(timed(1, 0));
  EXPECT_TRUE(rejects(reject.limits(), timed(1, 1 << 20)));
}

TEST(StaticReject, RejectsWhatSpillsFarMoreThanAnyOfTheFastest) {
  StaticReject reject;
  for (int i = 0; i < 100; ++i) reject.tell(timed(1 + 0.01 * i, i == 7 ? 100 : i > 7 ? 5000 : 0));
  EXPECT_FALSE(rejects(reject.limits(), timed(1, 512 + 4 * 100)));
  const auto failure = rejects(reject.limits(), timed(1, 512 + 4 * 100 + 1));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->status, Status::constraints);
  EXPECT_EQ(failure->reason, "spills");
  EXPECT_THAT(failure->detail, HasSubstr("913 bytes"));
  EXPECT_THAT(failure->detail, HasSubstr("912 are allowed"));
}

TEST(StaticReject, RejectsSerializedWgmmaOnlyWhereNoneOfTheFastestIs) {
  StaticReject overlapped;
  StaticReject mixed;
  for (int i = 0; i < 40; ++i) {
    overlapped.tell(timed(1 + i, 0, i >= 8));
    mixed.tell(timed(1 + i, 0, i == 7));
  }
  const auto failure = rejects(overlapped.limits(), timed(1, 0, true));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->reason, "serialized_wgmma");
  EXPECT_FALSE(rejects(mixed.limits(), timed(1, 0, true)));
}

TEST(StaticReject, NeverRejectsADefault) {
  StaticReject reject;
  for (int i = 0; i < 40; ++i) reject.tell(timed(1, 0));
  Result usual = timed(1, 1 << 20, true);
  usual.is_default = true;
  EXPECT_FALSE(rejects(reject.limits(), usual));
}

/// 15 x 15 configurations; those with TILE > 12 spill 4 KB, which costs them nothing but is far
/// beyond what the fastest spill.
struct SpillingSpace : FakeSpace {
  SpillingSpace() {
    for (Parameter& tunable : kernel("tiled").parameters) {
      tunable.values.clear();
      for (std::int64_t value = 1; value <= 15; ++value) tunable.values.emplace_back(value);
    }
    add("tiled", "spills select(TILE > 12, 2048, 8)");
  }
};

std::size_t count_rejects(const ProblemSummary& problem) {
  return static_cast<std::size_t>(std::ranges::count_if(problem.results, is_static_reject));
}

TEST(StaticReject, KeepsTheCompilersReportOfWhatWasNotTimed) {
  const SpillingSpace fake;
  FakeRun run(fake);
  run.request.options.window = 4;
  const TuningSummary summary = run.run();
  const ProblemSummary& problem = summary.problems.front();
  EXPECT_GT(count_rejects(problem), 20u);
  EXPECT_FALSE(problem.static_rejects);
  for (const Result& result : problem.results) {
    if (!is_static_reject(result)) continue;
    EXPECT_GT(std::get<std::int64_t>(result.configuration.at("TILE")), 12);
    EXPECT_EQ(result.launches.at(0).resources.spill_store_bytes, 2048);
    EXPECT_EQ(run.log->last("tiled", key(result.configuration))->reason, "spills");
  }
  EXPECT_THAT(run.log->open, IsEmpty());
  EXPECT_EQ(key(problem.best()->configuration), "ITEMS=2,TILE=8");
}

TEST(StaticReject, LeavesPredictedCurvesWhole) {
  SpillingSpace fake;
  fake.kernel("tiled").expect = Expectation{.time = {"1", "/test"}, .within_percent = 10};
  FakeRun run(fake);
  run.request.options.window = 4;
  EXPECT_EQ(count_rejects(run.run().problems.front()), 0u);
}

TEST(StaticReject, DependsOnTheWindowAndNotOnTheWorkers) {
  const SpillingSpace fake;
  std::vector<std::vector<std::string>> rejected(2);
  for (const int workers : {1, 4}) {
    FakeRun run(fake);
    run.workers.compile_workers = workers;
    run.request.options.window = 64;
    const TuningSummary summary = run.run();
    for (const Result& result : summary.problems.front().results) {
      if (is_static_reject(result))
        rejected[workers == 1 ? 0 : 1].push_back(key(result.configuration));
    }
  }
  EXPECT_FALSE(rejected[0].empty());
  EXPECT_EQ(rejected[0], rejected[1]);
}

TEST(StaticReject, IsNoLastingKnowledge) {
  const SpillingSpace fake;
  FakeRun first(fake);
  const std::size_t rejected = count_rejects(first.run().problems.front());
  ASSERT_GT(rejected, 0u);

  FakeRun again(fake);
  again.log = first.log;
  EXPECT_EQ(again.run().evaluated, 0u);

  FakeRun all(fake);
  all.log = first.log;
  all.request.options.static_reject = false;
  const TuningSummary summary = all.run();
  EXPECT_EQ(summary.evaluated, rejected);
  EXPECT_EQ(count_rejects(summary.problems.front()), 0u);
}

TEST(StaticReject, TellsWhatItWouldHaveLost) {
  SpillingSpace harmless;
  FakeRun none(harmless);
  none.request.options.static_reject = false;
  const TuningSummary nothing_lost = none.run();
  ASSERT_TRUE(nothing_lost.problems.front().static_rejects);
  const StaticRejects& proof = *nothing_lost.problems.front().static_rejects;
  EXPECT_GT(proof.rejected, 0u);
  EXPECT_EQ(proof.top, 3u);  // One per cent of 226, rounded up.
  EXPECT_THAT(proof.lost, IsEmpty());

  // One of the configurations that spill is the fastest of all.
  SpillingSpace harmful;
  harmful.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns 2000 + 100 * abs(TILE - 8) - 1500 * (TILE == 15 && ITEMS "
      "== 15)\n"
      "spills select(TILE > 12, 2048, 8)\n";
  std::size_t lost = 0;
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
    FakeRun some(harmful);
    some.request.options.strategy = "random";
    some.request.options.window = 4;
    some.request.options.static_reject = false;
    some.request.options.seed = seed;
    lost += some.run().problems.front().static_rejects->lost.size();
  }
  EXPECT_GT(lost, 0u);
}

}  // namespace
}  // namespace smemtune::test
