#include "tuner/engine/early_loss.h"

#include "tuner/engine/engine_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace smemtune::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(EarlyLoss, SaysNothingUntilItHasSeenEnough) {
  EarlyLoss loss(12);
  for (int i = 0; i < 15; ++i) loss.tell(2, 2);
  EXPECT_EQ(loss.limits(1), LossLimits());
  loss.tell(2, 2);
  EXPECT_GT(loss.limits(1).sampled_above_ms, 0);
  EXPECT_EQ(loss.limits(1).lost_above_ms, 0) << "of one launch alone more has to be known";
  for (int i = 0; i < 16; ++i) loss.tell(2, 2);
  EXPECT_GT(loss.limits(1).lost_above_ms, 0);
  EXPECT_EQ(loss.limits(HUGE_VAL), LossLimits()) << "there is no best";
  EXPECT_EQ(loss.limits(0.01), LossLimits()) << "launches cost next to nothing";
}

TEST(EarlyLoss, AllowsForWhatFirstLaunchesTakeMoreAndForTheirNoise) {
  EarlyLoss quiet(12);
  EarlyLoss noisy(12);
  for (int i = 0; i < 40; ++i) {
    quiet.tell(1.1, 1);
    noisy.tell(1.1 * (1 + 0.05 * (i % 5 - 2)), 1);
  }
  EXPECT_NEAR(quiet.limits(3).sample_ms, 3 * 1.12, 1e-9);
  EXPECT_NEAR(quiet.limits(3).sampled_above_ms, 3 * 1.12 * 1.1, 1e-9);
  EXPECT_NEAR(quiet.limits(3).lost_above_ms, 3 * 1.12 * 1.1, 1e-9);
  EXPECT_GT(noisy.limits(3).sample_ms, 3 * 1.12 * 1.1);
  EXPECT_GT(noisy.limits(3).lost_above_ms, noisy.limits(3).sampled_above_ms);
}

TEST(EarlyLoss, AsksForASampleOfSomeThatAreLost) {
  EarlyLoss loss(12);
  for (int i = 0; i < 33; ++i) loss.tell(1, 1);
  for (int i = 0; i < 5; ++i) {
    EXPECT_GT(loss.limits(1).lost_above_ms, 0) << i;
    loss.tell_unsampled();
  }
  EXPECT_EQ(loss.limits(1).lost_above_ms, 0);
  EXPECT_GT(loss.limits(1).sampled_above_ms, 0);
  loss.tell(3, 3);
  EXPECT_GT(loss.limits(1).lost_above_ms, 0);
}

/// `tiled` takes milliseconds; one of its 300 configurations is the best by 5 %.
FakeSpace slow_kernels() {
  FakeSpace fake;
  fake.add("naive", "time_ns 9000000");
  fake.give_items(60);
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\n"
      "time_ns select(TILE == 8 && ITEMS == 47, 1900000, 2000000 + 40000 * ITEMS)\n"
      "noise_percent 1\n";
  return fake;
}

double launches(const MemoryLog& log) {
  double launches = 0;
  for (const Result& result : log.records) {
    if (result.kernel != "tiled" || result.stage == Stage::final || result.stage == Stage::race)
      continue;
    const double samples = static_cast<double>(result.measurement.samples_ms.size());
    launches += result.behind() ? 1 : 2 + samples;
  }
  return launches;
}

TEST(EarlyLoss, HalvesTheLaunchesAndFindsTheSameBestInTwentyOfTwentySeeds) {
  const FakeSpace fake = slow_kernels();
  const auto launched = [&](std::uint64_t seed, bool early) {
    FakeRun run(fake);
    run.request.options.strategy = "random";
    run.request.options.seed = seed;
    run.request.options.early_loss = early;
    const ProblemSummary problem = run.run().problems.front();
    EXPECT_TRUE(problem.best() && key(problem.best()->configuration) == "ITEMS=47,TILE=8") << seed;
    return launches(run.own_log);
  };
  const double in_full = launched(1, false);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_LT(launched(seed, true), in_full / 2) << seed;
  }
}

TEST(EarlyLoss, IsRecordedForWhatItIs) {
  const FakeSpace fake = slow_kernels();
  FakeRun run(fake);
  run.request.options.strategy = "random";
  Progress last;
  run.observer.progress = [&](const Progress& progress) { last = progress; };
  const ProblemSummary problem = run.run().problems.front();
  std::size_t behind = 0;
  for (const Result& result : problem.results) {
    if (result.status == Status::correct) continue;
    ASSERT_TRUE(result.behind()) << result.detail;
    EXPECT_EQ(to_text(result.status), "timeout");
    EXPECT_THAT(result.detail, HasSubstr("verified on the first set of data only"));
    EXPECT_GT(result.first_launch_ms, 1.9 * 1.12);
    EXPECT_EQ(result.time_ms(), result.first_launch_ms);
    EXPECT_FALSE(result.timed());
    EXPECT_FALSE(is_transient(result)) << "it is not measured again when the run goes on";
    ++behind;
  }
  EXPECT_GT(behind, 100u);
  EXPECT_EQ(last.failed, 0u);
  EXPECT_TRUE(problem.failure_patterns.empty());
}

TEST(EarlyLoss, IsForgottenWhereNothingIsAheadAnyMore) {
  const FakeSpace fake = slow_kernels();
  MemoryLog log;
  {
    FakeRun first(fake);
    first.request.options.strategy = "random";
    first.log = &log;
    first.run();
  }
  // The results that the others were behind turn out to be wrong.
  std::size_t behind = 0;
  std::erase_if(log.records, [](const Result& result) { return result.stage != Stage::none; });
  for (Result& result : log.records) behind += result.behind() ? 1 : 0;
  ASSERT_GT(behind, 100u);
  FakeSpace wrong = fake;
  wrong.sources["tiled"].files.front().text += "fault mismatch in run when ITEMS < 30\n";
  FakeRun second(wrong);
  second.request.options.strategy = "random";
  second.log = &log;
  const ProblemSummary problem = second.run().problems.front();
  ASSERT_TRUE(problem.best());
  for (const Result& result : problem.results) {
    if (!result.behind()) continue;
    EXPECT_GT(result.first_launch_ms, problem.best()->measurement.median_ms);
  }
}

TEST(EarlyLoss, CountsAConfigurationThatIsEvaluatedAgainInFullOnce) {
  FakeSpace fake = slow_kernels();
  fake.sources["tiled"].files.front().text += "noise_percent 20\n";
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FakeRun run(fake);
    run.request.options.strategy = "random";
    run.request.options.seed = seed;
    const ProblemSummary problem = run.run().problems.front();
    EXPECT_EQ(problem.evaluated, problem.results.size()) << seed;
  }
}

}  // namespace
}  // namespace smemtune::test
