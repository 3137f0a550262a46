#include "tuner/core/repetitions_test_support.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/seen_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace smemtune::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(EarlyLoss, SaysNothingUntilItHasSeenEnough) {
  EarlyLoss loss;
  for (int i = 0; i < 15; ++i) loss.tell(2, 2);
  EXPECT_EQ(loss.limits(), LossLimits());
  loss.tell(2, 2);
  EXPECT_GT(loss.limits().doubtful_above, 1);
  EXPECT_EQ(loss.limits().lost_above, 0) << "of one launch alone more has to be known";
  for (int i = 0; i < 16; ++i) loss.tell(2, 2);
  EXPECT_GT(loss.limits().lost_above, 1);
}

TEST(EarlyLoss, AllowsForWhatFirstLaunchesTakeMoreAndForTheirNoise) {
  EarlyLoss quiet;
  EarlyLoss noisy;
  for (int i = 0; i < 40; ++i) {
    quiet.tell(1.1, 1);
    noisy.tell(1.1 * (1 + 0.05 * (i % 5 - 2)), 1);
  }
  EXPECT_NEAR(quiet.limits().doubtful_above, 1.1 * 1.01, 1e-3);
  EXPECT_NEAR(quiet.limits().lost_above, 1.1 * 1.01, 1e-3);
  EXPECT_GT(noisy.limits().doubtful_above, 1.1 * 1.1);
  EXPECT_GE(noisy.limits().lost_above, noisy.limits().doubtful_above);
}

TEST(EarlyLoss, AsksForASecondLaunchOfSomeThatAreLost) {
  EarlyLoss loss;
  for (int i = 0; i < 33; ++i) loss.tell(1, 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_GT(loss.limits().lost_above, 0) << i;
    loss.tell_unsampled();
  }
  EXPECT_EQ(loss.limits().lost_above, 0);
  EXPECT_GT(loss.limits().doubtful_above, 0);
  loss.tell(3, 3);
  EXPECT_GT(loss.limits().lost_above, 0);
}

TEST(PresentTime, IsTakenThreeTimesAndThenNowAndThen) {
  PresentTime time;
  for (const double ms : {3.0, 1.0, 2.0}) {
    EXPECT_TRUE(time.is_due());
    time.add(ms);
  }
  EXPECT_EQ(time.ms(), 2);
  int compared = 1;
  while (!time.is_due()) ++compared;
  EXPECT_EQ(compared, 16);
  time.add(5);
  EXPECT_EQ(time.ms(), 2) << "of 1, 2 and 5";
}

/// Returns the times of a kernel of which so many configurations took about this long, the first
/// sample twice `spread` more or less than the others.
SeenTimes seen(std::size_t configurations, double time_ms, double spread) {
  SeenTimes times;
  for (std::size_t i = 0; i < configurations; ++i) {
    const double first_ms = time_ms * (1 + spread * static_cast<double>(i % 5) - 2 * spread);
    Result result;
    result.status = Status::correct;
    result.stage = Stage::screen;
    result.measurement = summarize(std::vector{first_ms, time_ms, time_ms}, 1);
    times.see(result);
    times.see_launches(result);
  }
  return times;
}

TEST(EarlyLoss, IsKnownFromKernelsThatAreAsFastWhileLittleIsSeenOfOne) {
  const SeenTimes fast = seen(40, 1, 0.02);
  const SeenTimes slow = seen(40, 10, 0.001);
  const double fast_limit = fast.loss().limits().doubtful_above;
  const double slow_limit = slow.loss().limits().doubtful_above;
  ASSERT_LT(slow_limit, fast_limit);
  const auto limits_of = [&](const SeenTimes& last) {
    return loss_limits(std::vector{fast, slow, last}, 2);
  };
  EXPECT_EQ(limits_of(seen(16, 1, 0.1)).doubtful_above,
            seen(16, 1, 0.1).loss().limits().doubtful_above);
  EXPECT_NEAR(limits_of(seen(1, 1.2, 0)).doubtful_above, fast_limit, 0.02);
  EXPECT_EQ(limits_of(seen(1, 1.2, 0)).lost_above, 0) << "two samples are needed";
  EXPECT_EQ(limits_of(seen(1, 0.5, 0)).doubtful_above, 0) << "none is as fast";
  // One that is as slow as the others counts those that are faster, whose samples differ more.
  EXPECT_GT(limits_of(seen(1, 12, 0)).doubtful_above, slow_limit);
}

constexpr std::uint64_t kSeeds = repetitions(20);

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
    launches += result.given_up ? samples : 2 + samples;
  }
  return launches;
}

TEST(EarlyLoss, HalvesTheLaunchesAndFindsTheSameBestWithEachSeed) {
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
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_LT(launched(seed, true), in_full / 2) << seed;
  }
}

TEST(EarlyLoss, IsRecordedForWhatItIs) {
  const FakeSpace fake = slow_kernels();
  FakeRun run(fake);
  run.request.options.strategy = "random";
  const ProblemSummary problem = run.run().problems.front();
  std::size_t given_up = 0;
  for (const Result& result : problem.results) {
    ASSERT_TRUE(result.timed()) << result.detail;
    if (!result.given_up) continue;
    EXPECT_EQ(result.stage, Stage::screen);
    EXPECT_THAT(result.detail, HasSubstr("timed and compared "));
    EXPECT_LE(result.measurement.samples_ms.size(), 2u);
    EXPECT_EQ(result.first_launch_ms, result.measurement.samples_ms.front());
    EXPECT_TRUE(std::isnan(result.max_absolute_error)) << "it is not known";
    EXPECT_FALSE(result.chosen || result.tied);
    for (const ComparedOutput& one : result.compared) {
      EXPECT_EQ(one.compared, one.problem == result.problem ? one.elements_total : 0u);
    }
    ++given_up;
  }
  EXPECT_GT(given_up, 100u);
}

/// A space whose first kernel has four configurations: too few to know what launches vary by.
FakeSpace first_kernel_takes(const std::string& time_ns) {
  FakeSpace fake;
  fake.sources["naive"].files.front().text = "kernel naive(BLOCK)\ntime_ns " + time_ns + "\n";
  for (Parameter& parameter : fake.kernel("naive").parameters) {
    parameter.values = {Value(std::int64_t{64}), Value(std::int64_t{128}), Value(std::int64_t{256}),
                        Value(std::int64_t{512})};
  }
  return fake;
}

TEST(EarlyLoss, IsAtOnceToAnotherKernelThatIsFarAhead) {
  const FakeSpace fake = first_kernel_takes("90000 - BLOCK");
  FakeRun run(fake);
  const ProblemSummary problem = run.run().problems.front();
  std::size_t given_up = 0;
  for (const Result& result : problem.results) {
    const bool is_naive = result.kernel == "naive";
    EXPECT_TRUE(is_naive || !result.given_up);
    if (!result.given_up) continue;
    EXPECT_THAT(result.detail, HasSubstr("where the fastest of all kernels took"));
    ++given_up;
  }
  EXPECT_EQ(given_up, 2u) << "all but its default and its fastest, which is known in full";
  const Result& fastest = result_of(problem, "naive", "BLOCK=512");
  EXPECT_EQ(fastest.coverage().with, result_of(problem, "naive", "BLOCK=64").coverage().with);
  EXPECT_FALSE(fastest.given_up);
}

TEST(EarlyLoss, TakesOneLongLaunchOfADefaultThatIsFarBehind) {
  const FakeSpace fake = first_kernel_takes("90000000 - BLOCK");
  FakeRun run(fake);
  run.request.options.window = 1;
  const ProblemSummary problem = run.run().problems.front();
  for (const Result& result : problem.results) {
    EXPECT_EQ(result.given_up, result.kernel == "naive") << result.kernel;
    if (!result.given_up) continue;
    EXPECT_THAT(result.measurement.samples_ms, SizeIs(1)) << key(result.configuration);
    EXPECT_GT(result.measurement.median_ms, 89);
  }
}

TEST(EarlyLoss, IsForgottenOfTheDefaultOfTheBest) {
  FakeSpace fake = first_kernel_takes("select(BLOCK == 64, 90000000, 1000)");
  fake.kernel("naive").default_configuration = {{"BLOCK", Value(std::int64_t{64})}};
  FakeRun run(fake);
  run.request.options.window = 1;
  const ProblemSummary problem = run.run().problems.front();
  ASSERT_TRUE(problem.best());
  EXPECT_EQ(problem.best()->kernel, "naive");
  const Result& its_default = result_of(problem, "naive", "BLOCK=64");
  EXPECT_FALSE(its_default.given_up);
  EXPECT_EQ(its_default.coverage().with, problem.best()->coverage().with);
  const std::optional<Slowdown>& default_slower = problem.best()->finals.default_slower;
  ASSERT_TRUE(default_slower);
  EXPECT_GT(default_slower->percent, 1e6);
  EXPECT_EQ(problem.evaluated, problem.results.size());
}

TEST(EarlyLoss, TakesTwoSamplesAtMostOfWhatIsInDoubtOfTwoRivals) {
  FakeSpace fake = slow_kernels();
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\n"
      "time_ns select(ITEMS == 47, 1500000, 2000000)\n"
      "noise_percent 1\n";
  fake.sources["naive"].files.front().text = "kernel naive(BLOCK)\ntime_ns 1000000\n";
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    FakeRun run(fake);
    run.request.options.strategy = "random";
    run.request.options.seed = seed;
    const ProblemSummary problem = run.run().problems.front();
    std::size_t given_up = 0;
    for (const Result& result : problem.results) {
      ASSERT_TRUE(result.timed()) << seed << ": " << result.detail;
      if (!result.given_up) continue;
      EXPECT_LE(result.measurement.samples_ms.size(), 2u);
      ++given_up;
    }
    EXPECT_GT(given_up, 100u) << seed;
  }
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
  // The results that the others lost to turn out to be wrong.
  std::erase_if(log.records, [](const Result& result) { return !result.given_up; });
  ASSERT_THAT(log.records, SizeIs(testing::Gt(100u)));
  FakeSpace wrong = fake;
  wrong.sources["tiled"].files.front().text += "fault mismatch in run when ITEMS < 30\n";
  FakeRun second(wrong);
  second.request.options.strategy = "random";
  second.log = &log;
  const ProblemSummary problem = second.run().problems.front();
  ASSERT_TRUE(problem.best());
  for (const Result& result : problem.results) {
    if (!result.given_up) continue;
    EXPECT_GT(result.time_ms(), problem.best()->measurement.median_ms);
  }
}

TEST(EarlyLoss, CountsAConfigurationThatIsEvaluatedAgainInFullOnce) {
  FakeSpace fake = slow_kernels();
  fake.sources["tiled"].files.front().text += "noise_percent 20\n";
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    FakeRun run(fake);
    run.request.options.strategy = "random";
    run.request.options.seed = seed;
    const ProblemSummary problem = run.run().problems.front();
    EXPECT_EQ(problem.evaluated, problem.results.size()) << seed;
  }
}

}  // namespace
}  // namespace smemtune::test
