#include "tuner/engine/tuning_loop.h"

#include "tuner/backend/fake/script_test_support.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/launch_cost.h"
#include "tuner/core/reasons.h"
#include "tuner/core/repetitions_test_support.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/problem_state.h"
#include "tuner/engine/worker_pool.h"
#include "tuner/search/replay.h"
#include "tuner/search/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

namespace smemtune::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

std::string best_key(const ProblemSummary& summary) {
  return summary.best() ? summary.best()->kernel + " " + key(summary.best()->configuration)
                        : "none";
}

TEST(TuningLoop, FindsTheFastestConfiguration) {
  const FakeSpace fake;
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  ASSERT_THAT(summary.problems, SizeIs(1));
  const ProblemSummary& problem = summary.problems.front();
  EXPECT_EQ(best_key(problem), "tiled ITEMS=2,TILE=8");
  EXPECT_EQ(problem.best()->stage, Stage::final);
  EXPECT_NEAR(problem.best()->measurement.median_ms, 0.002, 1e-9);
  EXPECT_THAT(problem.results, SizeIs(kConfigurations));
  EXPECT_EQ(problem.valid, kConfigurations);
  EXPECT_EQ(problem.cartesian, kConfigurations);
  EXPECT_EQ(problem.evaluated, kConfigurations);
  EXPECT_EQ(problem.known, 0u);
  EXPECT_EQ(summary.worker_deaths, 0u);
  EXPECT_FALSE(summary.first_failure);
  EXPECT_FALSE(summary.interrupted);
  EXPECT_FALSE(summary.out_of_budget);
  for (const Result& result : problem.results) EXPECT_TRUE(result.timed());
}

// Each kernel has the most configurations that a kernel may have; together they are 2^64.
TEST(TuningLoop, SaysThatThereAreTooManyToCountAndNotThatAllWereEvaluated) {
  FakeSpace fake;
  fake.give_items(64);
  for (KernelTemplate& kernel : fake.space.kernels) {
    const bool is_naive = kernel.name == "naive";
    if (!is_naive) kernel.parameters.front().values = {1, 8};
    for (int i = 0; i < (is_naive ? 9 : 8); ++i) {
      Parameter more = {.name = "MORE" + std::to_string(i), .values = {}};
      for (std::int64_t value = 0; value < 128; ++value) more.values.emplace_back(value);
      kernel.default_configuration[more.name] = more.values.front();
      kernel.parameters.push_back(std::move(more));
    }
  }
  FakeRun run(fake);
  run.request.options.strategy = "random";
  run.request.options.budget.max_evaluations = 20;
  const ProblemSummary problem = run.run().problems.front();
  EXPECT_EQ(problem.valid, std::nullopt);
  EXPECT_EQ(problem.evaluated, 20u);
  ASSERT_TRUE(problem.unfinished);
  EXPECT_EQ(problem.unfinished->chance_of_better, std::nullopt) << "nothing is known of it";
}

/// A space of 1,025 configurations whose best is found soon.
FakeSpace large_space() {
  FakeSpace fake;
  fake.give_items(128);
  fake.kernel("tiled").parameters.front().values = {1, 2, 4, 8, 16, 32, 64, 128};
  return fake;
}

TEST(TuningLoop, EndsByItselfWhenItIsSureAndAgainAtTheSamePlace) {
  const FakeSpace fake = large_space();
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  const ProblemSummary first = run.run().problems.front();
  ASSERT_TRUE(first.unfinished);
  EXPECT_TRUE(first.unfinished->by_itself);
  EXPECT_LT(*first.unfinished->chance_of_better, 0.05);
  EXPECT_LT(first.evaluated, *first.valid);
  const ProblemSummary again = run.run().problems.front();
  EXPECT_EQ(again.evaluated, 0u);
  EXPECT_EQ(again.known, first.evaluated);
  EXPECT_EQ(again.unfinished->evaluations, first.unfinished->evaluations);
  EXPECT_TRUE(again.unfinished->by_itself);
}

TEST(TuningLoop, LeavesNothingBesideTheFastestWhereItIsSure) {
  FakeSpace fake = large_space();
  fake.add("naive", "time_ns 9000000");
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\n"
      "time_ns 1000000 + 4000 * ((ITEMS * 37) % 128) + TILE\n"
      "computes out[i] = in[i] + 1\n";
  for (std::uint64_t seed = 1; seed <= repetitions(20); ++seed) {
    FakeRun run(fake);
    run.request.options.strategy = "auto";
    run.request.options.seed = seed;
    const ProblemSummary problem = run.run().problems.front();
    ASSERT_TRUE(problem.best() && problem.unfinished) << seed;
    ASSERT_TRUE(problem.unfinished->by_itself) << seed;
    std::set<std::string> evaluated;
    for (const Result& result : problem.results) {
      const std::string text = result.kernel + " " + key(result.configuration);
      EXPECT_TRUE(evaluated.insert(text).second) << seed << ": twice " << text;
    }
    const std::int64_t items = std::get<std::int64_t>(problem.best()->configuration.at("ITEMS"));
    const std::int64_t tile = std::get<std::int64_t>(problem.best()->configuration.at("TILE"));
    for (const auto& [its_items, its_tile] :
         {std::pair(items - 1, tile), {items + 1, tile}, {items, tile / 2}, {items, 2 * tile}}) {
      if (its_items < 1 || its_items > 128 || its_tile < 1 || its_tile > 128) continue;
      const std::string beside =
          "ITEMS=" + std::to_string(its_items) + ",TILE=" + std::to_string(its_tile);
      EXPECT_TRUE(result_of(problem, "tiled", beside).timed()) << seed << ": " << beside;
    }
  }
}

/// Returns what a run on another board of the same model leaves for others.
PriorTimings prior_timings_of(const ProblemSummary& there) {
  PriorTimings prior = {.device = "there",
                        .kernel = there.best()->kernel,
                        .problem = there.problem,
                        .device_distance = 0,
                        .timed = {},
                        .winner = PriorWinner{.configuration = there.best()->configuration,
                                              .cubin_sha256 = there.best()->cubin_sha256,
                                              .searched = *there.best()->finals.searched}};
  for (const Result& result : there.results) {
    if (result.kernel != prior.kernel || !result.timed()) continue;
    prior.timed.emplace_back(result.measurement.median_ms, result.configuration);
  }
  return prior;
}

ProblemSummary run_after(const FakeSpace& fake, const PriorTimings& prior) {
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  run.request.elsewhere = {prior};
  return run.run().problems.front();
}

TEST(TuningLoop, EndsWhenItConfirmsWhatAnEarlierSearchFoundOnTheModel) {
  const FakeSpace fake = large_space();
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  const ProblemSummary there = run.run().problems.front();
  ASSERT_TRUE(there.best()->finals.searched);
  EXPECT_EQ(there.best()->finals.searched->evaluated, there.evaluated);
  EXPECT_LE(there.best()->finals.searched->chance_of_better, 0.05);
  const PriorTimings prior = prior_timings_of(there);

  const ProblemSummary here = run_after(fake, prior);
  EXPECT_EQ(best_key(here), best_key(there));
  EXPECT_LT(here.evaluated, 20u) << "the winner, what was near it, and the defaults";
  EXPECT_TRUE(here.unfinished->by_itself);
  EXPECT_EQ(here.unfinished->elsewhere, there.evaluated);
  EXPECT_EQ(here.best()->finals.searched->elsewhere, there.evaluated);

  PriorTimings other_code = prior;
  other_code.winner->cubin_sha256 = "of another compiler";
  EXPECT_GE(run_after(fake, other_code).evaluated, 64u);
  PriorTimings other_kernels = prior;
  other_kernels.winner->searched.kernels_sha256 = "of edited kernels";
  EXPECT_GE(run_after(fake, other_kernels).evaluated, 64u);
  PriorTimings in_doubt = prior;
  in_doubt.winner->searched.chance_of_better = 0.2;
  EXPECT_GE(run_after(fake, in_doubt).evaluated, 64u);
  PriorTimings sibling = prior;
  sibling.device_distance = 1;
  EXPECT_GE(run_after(fake, sibling).evaluated, 64u);
}

TEST(TuningLoop, EndsAgainAtTheSamePlaceWhateverItEstimatesThen) {
  const FakeSpace fake = large_space();
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  run.request.options.budget.max_evaluations = 20;
  const ProblemSummary first = run.run().problems.front();
  ASSERT_GT(first.best()->finals.searched->chance_of_better, 0.05);
  run.request.options.budget.max_evaluations = UINT64_MAX;
  PriorTimings prior = prior_timings_of(first);
  prior.is_in_log = true;
  prior.timed.clear();
  prior.winner->searched.chance_of_better = 0.05;
  run.request.elsewhere = {prior};
  run.request.further_elsewhere = []() -> std::vector<PriorTimings> {
    ADD_FAILURE() << "the log answers";
    return {};
  };
  const ProblemSummary again = run.run().problems.front();
  EXPECT_EQ(again.evaluated, 0u);
  EXPECT_TRUE(again.unfinished->by_itself);
}

TEST(TuningLoop, ReadsFurtherTimingsOnceUnlessTheLogAnswers) {
  const FakeSpace fake = large_space();
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  const ProblemSummary there = run.run().problems.front();
  PriorTimings in_doubt = prior_timings_of(there);
  in_doubt.is_in_log = true;
  in_doubt.winner->searched.chance_of_better = 0.2;

  FakeRun other(fake);
  other.request.options.strategy = "auto";
  other.request.problems.push_back(other.request.problems.front());
  other.request.problems.back()["N"] = std::int64_t{512};
  other.request.elsewhere = {in_doubt};
  int read = 0;
  other.request.further_elsewhere = [&] {
    ++read;
    return std::vector{prior_timings_of(there)};
  };
  const TuningSummary here = other.run();
  EXPECT_EQ(read, 1);
  EXPECT_LT(here.problems.front().evaluated, 20u) << "it confirms what was read";
}

TEST(TuningLoop, DoesNotTrustAnEarlierSearchWhoseWinnerIsBeatenHere) {
  const FakeSpace fake = large_space();
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  const ProblemSummary there = run.run().problems.front();
  PriorTimings prior = prior_timings_of(there);
  const Result& slow = result_of(there, "tiled", "TILE=1,ITEMS=1");
  ASSERT_TRUE(slow.timed());
  prior.winner->configuration = slow.configuration;
  prior.winner->cubin_sha256 = slow.cubin_sha256;
  const ProblemSummary here = run_after(fake, prior);
  EXPECT_GE(here.evaluated, 64u);
  EXPECT_EQ(here.unfinished->elsewhere, 0u);
}

TEST(TuningLoop, BeginsWithAllThatEarlierRunsHaveFound) {
  const FakeSpace fake = large_space();
  FakeRun run(fake);
  run.request.options.strategy = "random";
  run.request.options.budget.max_evaluations = 200;
  ASSERT_EQ(run.run().problems.front().evaluated, 200u);
  run.request.options.strategy = "auto";
  run.request.options.seed = 7;
  run.request.options.budget.max_evaluations = 1;
  const ProblemSummary again = run.run().problems.front();
  EXPECT_EQ(again.known, 200u);
  EXPECT_LE(again.evaluated, 1u);
}

TEST(TuningLoop, CountsAFewThatAreKnownOnce) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  const ProblemSummary first = run.run().problems.front();
  const ProblemSummary again = run.run().problems.front();
  EXPECT_EQ(again.evaluated, 0u);
  EXPECT_EQ(again.known, first.evaluated);
  EXPECT_EQ(again.results.size(), first.results.size());
}

TEST(TuningLoop, EvaluatesAllWhenAskedToOrWhenNothingWorks) {
  FakeSpace fake = large_space();
  {
    FakeRun run(fake);
    run.request.options.strategy = "auto";
    run.request.options.budget.until_percent = 0;
    const ProblemSummary all = run.run().problems.front();
    EXPECT_EQ(all.evaluated, *all.valid);
    EXPECT_FALSE(all.unfinished);
  }
  fake.kernel("tiled").parameters.front().values = {1};
  fake.kernel("tiled").default_configuration["TILE"] = std::int64_t{1};
  fake.add("tiled", "fault nan in run");
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  run.request.kernels = {&fake.kernel("tiled")};
  const ProblemSummary none = run.run().problems.front();
  EXPECT_EQ(none.evaluated, *none.valid);
  EXPECT_EQ(none.best(), nullptr);
}

TEST(TuningLoop, LeavesItToAnotherLimitWhetherItEndsByItself) {
  const FakeSpace fake = large_space();
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  run.request.options.budget.max_evaluations = 20;
  const ProblemSummary problem = run.run().problems.front();
  ASSERT_TRUE(problem.unfinished);
  EXPECT_FALSE(problem.unfinished->by_itself);
  EXPECT_GT(*problem.unfinished->chance_of_better, 0.05);
}

TEST(TuningLoop, FillsInWhatIsKnownOfAResult) {
  FakeSpace fake;
  fake.add("tiled", "registers 40 + ITEMS");
  fake.add("tiled", "static_shared 4 * TILE");
  fake.kernel("tiled").launches.front().static_shared_bytes = ExpressionText{"4 * TILE", "/test"};
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const Result& result = result_of(summary.problems.front(), "tiled", "TILE=16,ITEMS=4");
  ASSERT_THAT(result.launches, SizeIs(1));
  EXPECT_EQ(result.launches[0].resources.registers_per_thread, 44);
  EXPECT_EQ(result.launches[0].resources.static_shared_bytes, 64);
  EXPECT_EQ(result.launches[0].shape.name_expression, "tiled<16, 4>");
  EXPECT_GT(result.launches[0].occupancy.blocks_per_sm, 0);
  EXPECT_EQ(result.metrics.at("bytes"), 8000);
  EXPECT_EQ(result.cubin_sha256.size(), 64u);
  EXPECT_GT(result.compile_ms, 0);
  EXPECT_EQ(result.detail, "");
  EXPECT_FALSE(result.is_default);
  EXPECT_TRUE(result_of(summary.problems.front(), "tiled", "TILE=1,ITEMS=1").is_default);
  EXPECT_TRUE(result_of(summary.problems.front(), "naive", "BLOCK=64").is_reference);
}

TEST(TuningLoop, SaysWhichKernelsAndDefaultsTheConstraintsLeaveOut) {
  FakeSpace none;
  none.kernel("tiled").constraints = {{"N < 0", "/test"}};
  FakeRun without(none);
  without.run();
  EXPECT_THAT(without.notes,
              testing::ElementsAre("left out on N=1000: tiled (no configuration satisfies the "
                                   "constraints; its default fails `N < 0`)"));
  FakeSpace unpromising;
  unpromising.kernel("tiled").promising = {{"N < 1", "/test"}};
  FakeRun untried(unpromising);
  untried.run();
  EXPECT_THAT(untried.notes,
              testing::ElementsAre("left out on N=1000: tiled (no configuration is promising; its "
                                   "default fails `N < 1`)"));
  FakeSpace lacking;
  lacking.kernel("tiled").constraints = {{"N < 0", "/test"}};
  lacking.kernel("tiled").required_features = {"wgmma"};
  FakeRun elsewhere(lacking);
  elsewhere.workers.devices.clear();
  WorkerPool compilers(elsewhere.workers);
  Device older = h200_limits();
  older.compute_major = 8;
  dry_run(elsewhere.request, older, compilers, elsewhere.observer, elsewhere.stop);
  EXPECT_THAT(
      elsewhere.notes,
      testing::ElementsAre("left out on N=1000: tiled (the kernel requires warpgroup "
                           "products (wgmma), which needs compute capability 9.0; the device "
                           "has 8.0)"));
  FakeSpace some;
  some.kernel("tiled").constraints = {{"TILE > 1", "/test"}};
  FakeRun run(some);
  run.run();
  EXPECT_THAT(run.notes,
              testing::ElementsAre("the default of tiled, ITEMS=1,TILE=1, fails `TILE > 1` on "
                                   "N=1000: nothing is compared with it"));
}

TEST(TuningLoop, RecordsEveryResultAndClosesEveryAttempt) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.run();
  EXPECT_THAT(run.log->attempts, SizeIs(kConfigurations));
  EXPECT_THAT(run.log->open, IsEmpty());
  EXPECT_EQ(run.log->last("tiled", "TILE=8,ITEMS=2")->stage, Stage::final);
}

TEST(TuningLoop, BeginsTheAttemptBeforeTheDeviceIsTouched) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run when TILE == 8");
  FakeRun run(fake);
  run.request.options.max_deadline_s = run.request.options.min_deadline_s = 0.3;
  std::set<std::string> begun_before;
  run.observer.result = [&](const Result& result, bool) {
    const MemoryLog::Attempt attempt = {result.kernel, result.configuration};
    if (result.status == Status::timeout) {
      EXPECT_THAT(run.log->attempts, Contains(attempt));
      begun_before.insert(key(result.configuration));
    }
  };
  run.run();
  EXPECT_THAT(begun_before, SizeIs(testing::Ge(3u))) << "more where the machine is slow";
}

TEST(TuningLoop, TellsInTheSameOrderWhateverTheNumberOfCompileWorkers) {
  FakeSpace fake;
  fake.add("tiled", "noise_percent 2");
  fake.add("tiled", "drift_percent 5");
  std::vector<TuningSummary> summaries;
  for (const int workers : {1, 4}) {
    FakeRun run(fake);
    run.workers.compile_workers = workers;
    run.request.options.window = 5;
    run.request.options.seed = 7;
    summaries.push_back(run.run());
  }
  const ProblemSummary& one = summaries[0].problems.front();
  const ProblemSummary& four = summaries[1].problems.front();
  ASSERT_EQ(one.results.size(), four.results.size());
  for (std::size_t i = 0; i < one.results.size(); ++i) {
    EXPECT_EQ(key(one.results[i].configuration), key(four.results[i].configuration));
    EXPECT_EQ(one.results[i].status, four.results[i].status);
  }
  EXPECT_EQ(best_key(one), best_key(four));
}

TEST(TuningLoop, IsReplayedByItsSeedFromWhatItRecorded) {
  FakeSpace fake;
  fake.give_items(40);
  fake.add("tiled", "registers 30 + 2 * ITEMS");
  fake.add("tiled", "fault mismatch in run when TILE == 2 && ITEMS > 20");
  for (const StrategyInfo& info : strategies()) {
    const std::string& strategy = info.name;
    FakeRun run(fake);
    std::erase_if(run.request.kernels,
                  [](const KernelTemplate* kernel) { return kernel->name != "tiled"; });
    run.request.options.strategy = strategy;
    run.request.options.seed = 5;
    run.request.options.budget.max_evaluations = 70;
    run.request.options.window =
        in_flight(info.learns, static_cast<std::size_t>(run.workers.compile_workers), 1);
    const ProblemSummary live = run.run().problems.front();
    ASSERT_EQ(live.results.size(), 70u) << strategy;

    const KernelTemplate& kernel = fake.kernel("tiled");
    const Device device = run.pool->greeting().devices.front();
    const KernelBinding bound(fake.space, kernel, live.problem, device);
    RecordedKernel recorded = {
        .space = bound.search_space(),
        .answers = {},
        .cost =
            [&](ConfigurationIndex index, int registers) {
              return launch_cost(bound, bound.search_space().configuration(index), device,
                                 registers);
            },
        .default_configuration = bound.search_space().index_of(kernel.default_configuration)};
    recorded.answers.resize(recorded.space.size());
    std::set<ConfigurationIndex> seen;
    for (const Result& result : run.own_log.records) {
      if (result.kernel != "tiled") continue;
      const ConfigurationIndex index = recorded.space.index_of(result.configuration).value();
      if (!seen.insert(index).second)
        continue;  // Results of the finals, which the strategy is not
                   // told.
      recorded.answers[index].time_ms = result.time_ms();
      if (result.launches.empty()) continue;
      recorded.answers[index].registers = result.launches.front().resources.registers_per_thread;
    }
    const std::vector<Replayed> again = replay(recorded, {.strategy = strategy,
                                                          .seed = 5,
                                                          .evaluations = 70,
                                                          .in_flight = 0,
                                                          .compilers = run.pool->compilers()});
    ASSERT_EQ(again.size(), live.results.size()) << strategy;
    for (std::size_t i = 0; i < again.size(); ++i) {
      ASSERT_EQ(key(recorded.space.configuration(again[i].configuration)),
                key(live.results[i].configuration))
          << strategy << ", evaluation " << i;
    }
  }
}

TEST(TuningLoop, AsksForWhatWasFastForTheProblemBeforeUnlessItStartsCold) {
  FakeSpace fake;
  fake.space.problems = {parse_key("N=1000"), parse_key("N=2000")};
  for (const bool cold : {false, true}) {
    FakeRun run(fake);
    run.request.options.strategy = "auto";
    run.request.options.window = 1;
    run.request.options.cold = cold;
    const ProblemSummary second = run.run().problems.at(1);
    EXPECT_EQ("tiled ITEMS=2,TILE=8", best_key(second));
    EXPECT_THAT(second.results, SizeIs(16));
    EXPECT_EQ(cold ? 0 : 1, std::ranges::count_if(run.notes, [](const std::string& note) {
                return note.find("also tries what was fast on") != std::string::npos;
              }));
    if (cold) continue;
    const auto best =
        std::ranges::find(second.results, parse_key("TILE=8,ITEMS=2"), &Result::configuration);
    EXPECT_LE(best - second.results.begin(), 2);  // Right after the defaults.
  }
}

/// Two problems, whose finals take a while and whose code for `tiled` differs.
FakeSpace two_problems_with_their_own_code() {
  FakeSpace fake;
  fake.space.problems = {parse_key("N=1000"), parse_key("N=2000")};
  LaunchTemplate& launch = fake.kernel("tiled").launches.front();
  launch.template_arguments.push_back({"N", "/test"});
  launch.entry = "tiled<TILE,ITEMS,N>";
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS, SIZE)\n"
      "time_ns 1000000 + 1000 * ITEMS + TILE\n"
      "computes out[i] = in[i] + 1\n";
  return fake;
}

TEST(TuningLoop, CompilesForTheNextProblemDuringFinalsThatHaveTheirTime) {
  const FakeSpace fake = two_problems_with_their_own_code();
  for (const double max_seconds : {0.0, 1000.0}) {
    FakeRun run(fake);
    run.request.options.budget.max_seconds = max_seconds;
    std::uint64_t before_finals = 0;
    std::uint64_t at_next = 0;
    std::uint64_t compiled = 0;
    run.observer.progress = [&](const Progress& progress) {
      compiled = progress.compiled;
      const bool is_first = progress.problem_number == 1;
      if (is_first && progress.phase == "search") before_finals = compiled;
      if (progress.phase == "finals" && compiled == before_finals && max_seconds == 0) {
        std::this_thread::sleep_for(
            std::chrono::milliseconds(10));  // The finals of a real device last.
      }
      if (!is_first && at_next == 0) at_next = compiled;
    };
    const TuningSummary summary = run.run();
    EXPECT_EQ(at_next > before_finals, max_seconds == 0);
    EXPECT_EQ(summary.evaluated, 2 * kConfigurations);
    EXPECT_EQ(compiled, 15u * 2 + 1) << "nothing is compiled twice";
  }
}

TEST(TuningLoop, CompilesNothingAheadThatIsKnown) {
  const FakeSpace fake = two_problems_with_their_own_code();
  FakeRun all(fake);
  all.run();
  MemoryLog log = all.own_log;
  std::erase_if(log.records, [](const Result& result) {
    return result.problem == parse_key("N=1000") || result.kernel == "naive";
  });
  FakeRun again(fake);
  again.log = &log;
  std::uint64_t compiled = 0;
  again.observer.progress = [&](const Progress& progress) { compiled = progress.compiled; };
  again.run();
  EXPECT_EQ(compiled, 15u + 1) << "of N=2000 all of tiled is known";
}

TEST(TuningLoop, AsksForWhatWasFastOnAnotherDevice) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  run.request.options.window = 1;
  run.request.elsewhere = {{.device = "Sibling",
                            .kernel = "tiled",
                            .problem = run.request.problems.front(),
                            .device_distance = 1,
                            .timed = {{2, parse_key("TILE=4,ITEMS=1")},
                                      {1, parse_key("TILE=16,ITEMS=2")},
                                      {3, parse_key("TILE=3,ITEMS=2")}}}};
  const ProblemSummary problem = run.run().problems.front();
  EXPECT_EQ("tiled ITEMS=2,TILE=8", best_key(problem));
  EXPECT_EQ(parse_key("TILE=16,ITEMS=2"), problem.results.at(2).configuration);
  EXPECT_THAT(run.notes, testing::Contains(testing::HasSubstr("Sibling")));
}

TEST(TuningLoop, KeepsNoDeviceWaitingForWhatIsLongInCompiling) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("tiled", "fault wait in compile when TILE == 16");
  FakeRun run(fake);
  for (const char* configuration : {"TILE=16,ITEMS=1", "TILE=8,ITEMS=2", "TILE=4,ITEMS=2"}) {
    run.request.only.push_back({.kernel = "tiled", .configuration = parse_key(configuration)});
  }
  run.observer.progress = [&](const Progress&) {
    if (run.own_log.records.size() == 2) folder.let_happen();
  };
  const TuningSummary summary = run.run();
  ASSERT_THAT(run.own_log.attempts, SizeIs(3));
  EXPECT_EQ(run.own_log.attempts.back().configuration, parse_key("TILE=16,ITEMS=1"));
  EXPECT_EQ(summary.problems.front().results.front().configuration, parse_key("TILE=16,ITEMS=1"))
      << "told in the order asked";
}

TEST(TuningLoop, MeasuresAllThatAreAskedInTheFinals) {
  FakeSpace fake;
  fake.add("tiled", "time_ns select(TILE == 8, 2000, 2000000)");
  FakeRun run(fake);
  for (const char* configuration : {"TILE=8,ITEMS=2", "TILE=8,ITEMS=1", "TILE=4,ITEMS=2"}) {
    run.request.only.push_back({.kernel = "tiled", .configuration = parse_key(configuration)});
  }
  const ProblemSummary problem = run.run().problems.front();
  ASSERT_THAT(problem.results, SizeIs(3));
  for (const Result& result : problem.results) {
    EXPECT_EQ(result.stage, Stage::final) << key(result.configuration);
  }
}

TEST(TuningLoop, CompilesTheFurtherAheadTheMoreCompilersThereAre) {
  const std::map<std::string, std::uint64_t> others = {{"random", 4 * 24 - 1},
                                                       {"auto", 2 * (24 + 2) - 1}};
  for (const auto& other : others) {
    const std::string& strategy = other.first;
    const std::uint64_t least = other.second;
    const FakeFolder folder;
    FakeSpace fake;
    fake.give_items(40);
    fake.add("tiled", "fault wait in compile when TILE == 1 && ITEMS == 1");
    FakeRun run(fake);
    run.request.options.strategy = strategy;
    run.request.options.budget.max_evaluations = 4 * 24 + 1;
    run.request.kernels = {&fake.kernel("tiled")};
    run.pool = std::make_shared<WorkerPool>(fake_workers(24));
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t beside_it = 0;
    run.observer.progress = [&](const Progress& progress) {
      const bool too_long = std::chrono::steady_clock::now() - begin > std::chrono::minutes(2);
      if (progress.done < least && !too_long) return;
      if (beside_it == 0) beside_it = progress.done;
      folder.let_happen();
    };
    run.run();
    EXPECT_GE(beside_it, least) << strategy
                                << ": the default, which is asked first, held the others up";
  }
}

TEST(TuningLoop, FindsTheBestWhileTheDeviceDriftsAndIsNoisy) {
  FakeSpace fake;
  fake.add("tiled", "noise_percent 3");
  fake.add("tiled", "drift_percent 8");
  for (const unsigned seed : {1u, 2u, 3u}) {
    FakeRun run(fake);
    run.request.options.seed = seed;
    EXPECT_EQ(best_key(run.run().problems.front()), "tiled ITEMS=2,TILE=8");
  }
}

TEST(TuningLoop, HoldsLongFinalsWhereKernelsAreQuickAndTimesSpread) {
  const auto samples_of_the_best = [](const std::string& time_ns) {
    FakeSpace fake;
    fake.sources["tiled"].files.front().text = "kernel tiled(TILE, ITEMS)\ntime_ns " + time_ns;
    fake.sources["naive"].files.front().text = "kernel naive(BLOCK)\ntime_ns 300000000";
    FakeRun run(fake);
    return run.run().problems.front().best()->measurement.samples_ms.size();
  };
  EXPECT_EQ(samples_of_the_best("2000 + TILE\nnoise_percent 3"), 120u);
  EXPECT_EQ(samples_of_the_best("100000000 + TILE\nnoise_percent 3"), 30u);
  EXPECT_EQ(samples_of_the_best("2000 + TILE"), 24u) << "two looks";
}

// ITEMS=4 is the last of those that take equally long.
TEST(TuningLoop, PrefersLessSharedMemoryThenFewerRegistersAmongTies) {
  for (const std::string resources : {"static_shared 1024 - 256 * ITEMS", "registers 64 - ITEMS",
                                      "static_shared 1024 - 256 * ITEMS\nregisters 32 + ITEMS"}) {
    FakeSpace fake;
    fake.sources["tiled"].files.front().text =
        "kernel tiled(TILE, ITEMS)\ntime_ns 2000 + 100 * abs(TILE - 8)\n" + resources + "\n";
    FakeRun run(fake);
    const TuningSummary summary = run.run();
    EXPECT_EQ(best_key(summary.problems.front()), "tiled ITEMS=4,TILE=8") << resources;
    EXPECT_THAT(summary.problems.front().bests.tied, SizeIs(2)) << resources;
  }
}

TEST(TuningLoop, SecondRunEvaluatesNothing) {
  const FakeSpace fake;
  FakeRun first(fake);
  const TuningSummary before = first.run();
  FakeRun second(fake);
  second.log = first.log;
  const std::size_t attempts = first.log->attempts.size();
  const std::size_t records = first.log->records.size();
  std::size_t known = 0;
  second.observer.result = [&](const Result&, bool is_known) { known += is_known ? 1 : 0; };
  const TuningSummary after = second.run();
  EXPECT_EQ(first.log->attempts.size(), attempts);
  EXPECT_EQ(first.log->records.size(), records);
  EXPECT_EQ(known, kConfigurations);
  EXPECT_EQ(after.evaluated, 0u);
  EXPECT_EQ(after.problems.front().known, kConfigurations);
  EXPECT_EQ(best_key(after.problems.front()), best_key(before.problems.front()));
}

TEST(TuningLoop, HoldsFinalsAgainWhereSomethingIsFasterByMoreThanItLooksFor) {
  const FakeSpace fake;
  for (const double percent : {0.5, 3.0}) {
    FakeRun first(fake);
    const double best_ms = first.run().problems.front().best()->measurement.median_ms;
    std::vector<Result>& records = first.log->records;
    const auto screened = std::ranges::find_if(records, [&](const Result& one) {
      const Result* const last = first.log->last(one.kernel, key(one.configuration));
      return one.timed() && last == &one && one.stage == Stage::screen;
    });
    ASSERT_NE(screened, records.end());
    screened->measurement.median_ms = best_ms / (1 + percent / 100);
    const std::size_t finals = first.log->finals.size();
    FakeRun second(fake);
    second.log = first.log;
    EXPECT_EQ(second.run().evaluated, 0u);
    EXPECT_EQ(first.log->finals.size() > finals, percent > 1) << percent;
  }
}

TEST(TuningLoop, MeasuresTheCopiesWhereAskedAlsoWhenAllIsKnown) {
  const FakeSpace fake;
  FakeRun first(fake);
  EXPECT_FALSE(first.run().problems.front().transfers);
  FakeRun second(fake);
  second.log = first.log;
  second.request.options.with_transfers = true;
  const TuningSummary after = second.run();
  EXPECT_EQ(after.evaluated, 0u);
  ASSERT_TRUE(after.problems.front().transfers);
  EXPECT_EQ(after.problems.front().transfers->to_device_ms, 3);
  EXPECT_EQ(after.problems.front().transfers->to_host_bytes, 20000000);
}

TEST(TuningLoop, MeasuresEverythingAgainWhenNotResuming) {
  const FakeSpace fake;
  FakeRun first(fake);
  first.run();
  FakeRun second(fake);
  second.log = first.log;
  second.request.options.resume = false;
  EXPECT_EQ(second.run().evaluated, kConfigurations);
}

TEST(TuningLoop, ResumesWhereABudgetEnded) {
  const FakeSpace fake;
  FakeRun first(fake);
  first.request.options.budget.max_evaluations = 6;
  const TuningSummary part = first.run();
  EXPECT_EQ(part.evaluated, 6u);
  EXPECT_TRUE(part.out_of_budget);
  EXPECT_EQ(part.problems.front().best()->stage, Stage::final);

  FakeRun second(fake);
  second.log = first.log;
  const TuningSummary rest = second.run();
  EXPECT_EQ(rest.evaluated, kConfigurations - 6);
  EXPECT_FALSE(rest.out_of_budget);
  EXPECT_EQ(best_key(rest.problems.front()), "tiled ITEMS=2,TILE=8");
  EXPECT_THAT(first.log->attempts, SizeIs(kConfigurations));
}

/// Returns the log of a run that died in its finals; the fastest configuration was among the
/// finalists.
MemoryLog died_in_finals() {
  const FakeSpace fake;
  FakeRun run(fake);
  run.run();
  MemoryLog log = run.own_log;
  std::erase_if(log.records, [](const Result& result) { return result.stage != Stage::screen; });
  log.finals.clear();
  log.lost = {{"tiled", parse_key("TILE=8,ITEMS=2")}};
  return log;
}

TEST(TuningLoop, WritesDownWhoIsInTheFinalsBeforeTheyBegin) {
  const FakeSpace fake;
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  for (const Result& result : summary.problems.front().results) {
    if (result.stage == Stage::screen) continue;
    EXPECT_EQ(std::ranges::count(run.own_log.finals,
                                 MemoryLog::Attempt{result.kernel, result.configuration}),
              1)
        << key(result.configuration);
  }
  EXPECT_THAT(run.own_log.open, testing::IsEmpty());
}

TEST(TuningLoop, TriesByItselfWhoWasInFinalsThatDied) {
  MemoryLog log = died_in_finals();
  const MemoryLog::Attempt suspect = log.lost.front();
  const FakeSpace fake;
  FakeRun again(fake);
  again.log = &log;
  const TuningSummary summary = again.run();
  EXPECT_EQ(summary.evaluated, 0u);
  EXPECT_EQ(best_key(summary.problems.front()), "tiled ITEMS=2,TILE=8");
  ASSERT_THAT(log.finals, Not(testing::IsEmpty()));
  EXPECT_EQ(log.finals.front(), suspect);
  EXPECT_EQ(std::ranges::count(log.finals, suspect), 2) << "alone, then with the others";
  EXPECT_THAT(log.lost, testing::IsEmpty());
  EXPECT_THAT(log.open, testing::IsEmpty());
}

TEST(TuningLoop, FindsWhoIsToBlameForFinalsThatDied) {
  MemoryLog log = died_in_finals();
  const MemoryLog::Attempt suspect = log.lost.front();
  FakeSpace fake;
  fake.add("tiled", "fault crash in time when TILE == 8 && ITEMS == 2");
  FakeRun again(fake);
  again.log = &log;
  const TuningSummary summary = again.run();
  EXPECT_NE(best_key(summary.problems.front()), "tiled ITEMS=2,TILE=8");
  const Result& guilty = result_of(summary.problems.front(), "tiled", "ITEMS=2,TILE=8");
  EXPECT_EQ(guilty.reason, "crash");
  EXPECT_EQ(std::ranges::count(log.finals, suspect), 1) << "alone only";
  EXPECT_THAT(log.open, testing::IsEmpty());
}

TEST(TuningLoop, MeasuresTheDefaultsWhateverTheBudget) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.budget.max_evaluations = 1;
  const ProblemSummary few = run.run().problems.front();
  EXPECT_EQ(few.evaluated, 2u);
  EXPECT_TRUE(result_of(few, "naive", "BLOCK=64").timed());
  EXPECT_TRUE(result_of(few, "tiled", "TILE=1,ITEMS=1").timed());

  FakeRun hurried(fake);
  hurried.request.options.budget.max_seconds = 0.001;
  hurried.request.options.grace_s = 60;
  const TuningSummary short_run = hurried.run();
  const ProblemSummary& short_of_time = short_run.problems.front();
  EXPECT_TRUE(result_of(short_of_time, "naive", "BLOCK=64").timed());
  EXPECT_TRUE(result_of(short_of_time, "tiled", "TILE=1,ITEMS=1").timed());

  // Finals are held all the same, but with the fewest rounds.
  EXPECT_TRUE(short_run.out_of_budget);
  ASSERT_TRUE(short_of_time.best());
  EXPECT_EQ(short_of_time.best()->stage, Stage::final);
  EXPECT_THAT(short_of_time.best()->measurement.samples_ms, SizeIs(6));
  EXPECT_THAT(hurried.notes, Contains("time ran out: the finals end after 6 rounds"));
}

TEST(TuningLoop, SaysHowMuchSlowerTheDefaultIsAndHowSurely) {
  const FakeSpace fake;
  FakeRun run(fake);
  const ProblemSummary summary = run.run().problems.front();
  ASSERT_EQ(best_key(summary), "tiled ITEMS=2,TILE=8");
  ASSERT_TRUE(summary.best()->finals.default_slower);
  const double best_ms = summary.best()->measurement.median_ms;
  const Result& yours = result_of(summary, "tiled", "TILE=1,ITEMS=1");
  EXPECT_EQ(yours.stage, Stage::final);
  const double percent = 100 * (yours.measurement.median_ms / best_ms - 1);
  EXPECT_NEAR(summary.best()->finals.default_slower->percent, percent, 0.05 * percent);
  EXPECT_LE(summary.best()->finals.default_slower->low_percent,
            summary.best()->finals.default_slower->percent);
  EXPECT_GE(summary.best()->finals.default_slower->high_percent,
            summary.best()->finals.default_slower->percent);
}

TEST(TuningLoop, KeepsWhatTheMachineCodeSaysWithFinalistsOnly) {
  const FakeSpace fake;
  FakeRun run(fake);
  const ProblemSummary summary = run.run().problems.front();
  std::size_t finalists = 0;
  for (const Result& result : summary.results) {
    for (const LaunchResult& launch : result.launches) {
      EXPECT_EQ(!launch.facts.empty(), result.stage == Stage::final) << key(result.configuration);
      if (launch.facts.empty()) continue;
      ++finalists;
      EXPECT_EQ(launch.facts.at("code.instructions"), launch.resources.registers_per_thread);
    }
  }
  EXPECT_GE(finalists, 2u);
}

TEST(TuningLoop, ReadsCountersOfFinalistsWhenAskedTo) {
  const FakeSpace fake;
  FakeRun plain(fake);
  const ProblemSummary without = plain.run().problems.front();
  const std::string best = best_key(without);
  FakeRun run(fake);
  run.request.options.counters = true;
  const ProblemSummary summary = run.run().problems.front();
  EXPECT_EQ(best_key(summary), best);
  for (const Result& result : summary.results) {
    for (const LaunchResult& launch : result.launches) {
      EXPECT_EQ(launch.facts.contains("counter.duration_ns"), result.stage == Stage::final);
    }
  }
  for (const Result& result : without.results) {
    for (const LaunchResult& launch : result.launches) {
      EXPECT_FALSE(launch.facts.contains("counter.duration_ns")) << "they were not asked for";
    }
  }
}

TEST(TuningLoop, SaysOnceWhyThereAreNoCountersAndGoesOn) {
  for (const char* fault : {"fault refused in count", "fault crash in count"}) {
    FakeSpace fake;
    fake.add("tiled", fault);
    fake.add("naive", fault);
    FakeRun run(fake);
    run.request.options.counters = true;
    const ProblemSummary summary = run.run().problems.front();
    EXPECT_EQ(best_key(summary), "tiled ITEMS=2,TILE=8") << fault;
    EXPECT_EQ(summary.best()->stage, Stage::final) << fault;
    EXPECT_EQ(
        std::ranges::count_if(
            run.notes, [](const std::string& note) { return note.starts_with("no counters"); }),
        1)
        << fault << ": " << testing::PrintToString(run.notes);
  }
}

TEST(TuningLoop, ReadsTheEnergyOfFinalistsWhenAskedTo) {
  const FakeSpace fake;
  FakeRun plain(fake);
  const std::string best = best_key(plain.run().problems.front());
  FakeRun run(fake);
  run.request.options.energy = true;
  const ProblemSummary summary = run.run().problems.front();
  EXPECT_EQ(best_key(summary), best);
  EXPECT_THAT(run.notes, testing::Not(Contains(HasSubstr("energy"))));
  for (const Result& result : summary.results) {
    for (const LaunchResult& launch : result.launches) {
      const bool is_told = result.stage == Stage::final && &launch == &result.launches.front();
      EXPECT_EQ(launch.facts.contains("energy.joules_per_launch"), is_told);
    }
    if (result.stage != Stage::final) continue;
    EXPECT_GE(result.launches.front().facts.at("energy.measured_s"), 2);
    EXPECT_TRUE(result.launches.front().facts.contains("code.instructions")) << "both are kept";
  }
}

TEST(TuningLoop, HoldsFinalsAgainForFactsThatAreNotKnownYet) {
  const FakeSpace fake;
  FakeRun first(fake);
  first.run();
  const auto best_of_known = [&](bool counters, bool energy) {
    FakeRun run(fake);
    run.log = first.log;
    run.request.options.counters = counters;
    run.request.options.energy = energy;
    const TuningSummary summary = run.run();
    EXPECT_EQ(summary.evaluated, 0u);
    return *summary.problems.front().best();
  };
  const auto joules = [](const Result& result) {
    return result.launches.front().facts.at("energy.joules_per_launch");
  };
  const Result measured = best_of_known(false, true);
  EXPECT_FALSE(has_facts(measured, kCounterFacts));
  EXPECT_EQ(best_of_known(false, true), measured) << "there was nothing new to tell";
  const Result both = best_of_known(true, false);
  EXPECT_TRUE(has_facts(both, kCounterFacts));
  EXPECT_EQ(joules(both), joules(measured)) << "it is of the same code on the same unit";
  EXPECT_EQ(best_of_known(true, true), both);
}

TEST(TuningLoop, ReadsTheEnergyOfAllWithinAFactorOfTheBestWhenAskedTo) {
  const FakeSpace fake;
  FakeRun first(fake);
  first.run();
  const auto measured = [&](double within) {
    FakeRun run(fake);
    run.log = first.log;
    run.request.options.energy = true;
    run.request.options.energy_within = within;
    const ProblemSummary summary = run.run().problems.front();
    const double most_ms = within * summary.best()->measurement.median_ms;
    std::size_t others = 0;
    for (const Result& result : summary.results) {
      if (!result.timed() || result.given_up) continue;
      const bool is_near = result.measurement.median_ms <= most_ms;
      EXPECT_EQ(has_facts(result, kEnergyFacts), is_near || result.stage == Stage::final)
          << key(result.configuration);
      others += has_facts(result, kEnergyFacts) && result.stage != Stage::final ? 1 : 0;
    }
    const auto note = std::ranges::find_if(
        run.notes, [](const std::string& text) { return text.starts_with("reading the energy"); });
    return std::pair(others, note == run.notes.end() ? "" : *note);
  };
  EXPECT_EQ(measured(1).first, 0u);
  const auto [others, note] = measured(1e9);
  EXPECT_GT(others, 0u);
  EXPECT_EQ(note, "reading the energy of " + std::to_string(others) +
                      " more: that takes at least " + std::to_string(3 * others) + " s");
  EXPECT_EQ(measured(1e9), std::pair(others, std::string())) << "all is known";
}

TEST(TuningLoop, SaysOnceWhyThereIsNoEnergyAndGoesOn) {
  for (const char* fault : {"fault refused in energy", "fault crash in energy"}) {
    FakeSpace fake;
    fake.add("tiled", fault);
    fake.add("naive", fault);
    FakeRun run(fake);
    run.request.options.energy = true;
    run.request.options.energy_within = 1e9;
    const ProblemSummary summary = run.run().problems.front();
    EXPECT_EQ(best_key(summary), "tiled ITEMS=2,TILE=8") << fault;
    EXPECT_EQ(summary.best()->stage, Stage::final) << fault;
    EXPECT_EQ(
        std::ranges::count_if(
            run.notes, [](const std::string& note) { return note.starts_with("no energy: "); }),
        1)
        << fault << ": " << testing::PrintToString(run.notes);
    EXPECT_THAT(run.notes, testing::Not(Contains(HasSubstr("reading the energy")))) << fault;
  }
}

TEST(TuningLoop, SaysThatTheTimeWasUpBeforeTheEnergyOfFinalistsWasRead) {
  FakeSpace fake;
  FakeRun run(fake);
  run.request.options.energy = true;
  run.request.options.budget = {.max_evaluations = 4, .max_seconds = 2};
  run.request.options.grace_s = 0.5;
  run.request.begun = std::chrono::steady_clock::now();
  const auto wait_until = [&run](int ms) {
    std::this_thread::sleep_until(*run.request.begun + std::chrono::milliseconds(ms));
  };
  run.observer.progress = [&](const Progress& progress) {
    if (progress.phase == "finals") wait_until(2100);
  };
  const auto keep = run.observer.note;
  run.observer.note = [&](const std::string& note) {
    keep(note);
    if (note.starts_with("time ran out")) wait_until(2700);
  };
  const ProblemSummary summary = run.run().problems.front();
  EXPECT_FALSE(summary.best()->launches.front().facts.contains("energy.joules_per_launch"));
  EXPECT_THAT(
      run.notes,
      Contains(testing::ContainsRegex("no energy of [0-9]+ finalists?: the time was up first")));
}

TEST(TuningLoop, TakesNoEnergyOfWhatDoesLessWhenItIsRepeated) {
  FakeSpace fake;
  fake.add("tiled", "fault idle in energy");
  FakeRun run(fake);
  run.request.options.energy = true;
  const ProblemSummary summary = run.run().problems.front();
  EXPECT_FALSE(summary.best()->launches.front().facts.contains("energy.joules_per_launch"));
  EXPECT_THAT(run.notes,
              Contains("no energy: tiled does less when it is repeated on the same data"));
}

TEST(TuningLoop, ABudgetThatIsJustEnoughIsNotExceeded) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.budget.max_evaluations = kConfigurations;
  EXPECT_FALSE(run.run().out_of_budget);
}

TEST(TuningLoop, EndsWhenItsTimeIsUp) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run");
  FakeRun run(fake);
  run.request.options.max_deadline_s = run.request.options.min_deadline_s = 0.2;
  run.request.options.budget.max_seconds = 0.4;
  run.request.options.grace_s = 60;
  const TuningSummary summary = run.run();
  EXPECT_TRUE(summary.out_of_budget);
  EXPECT_LT(summary.problems.front().results.size(), kConfigurations);
  EXPECT_THAT(run.log->open, IsEmpty());
}

TEST(TuningLoop, DiscardsSamplesAtALowClock) {
  FakeSpace fake;
  fake.add("tiled", "clock_mhz select(DISCARDED < 2, 1000, 1500)");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const Result& best = *summary.problems.front().best();
  EXPECT_EQ(best.measurement.discarded, 2 * std::ssize(best.measurement.samples_ms))
      << "two of each of the finals' samples";
  EXPECT_FALSE(best.measurement.throttled);
  EXPECT_EQ(best.measurement.sm_clock_mhz, 1500);
  EXPECT_DOUBLE_EQ(best.measurement.max_ms, 2e-3) << "none at 1000 MHz";
}

TEST(TuningLoop, CountsWhatEverySeriesOfAScreeningDiscarded) {
  FakeSpace fake;
  fake.add("tiled", "clock_mhz select(DISCARDED < 2, 1000, 1500)");
  FakeRun run(fake);
  run.request.only = {{"tiled", parse_key("TILE=8,ITEMS=2")}};
  std::vector<int> discarded;
  run.observer.result = [&](const Result& result, bool) {
    if (result.stage != Stage::final) discarded.push_back(result.measurement.discarded);
  };
  run.run();
  EXPECT_THAT(discarded, testing::ElementsAre(4))
      << "two of the first sample and of those after it";
}

TEST(TuningLoop, SaysWhatWasMeasuredWhileTheDeviceWasThrottled) {
  FakeSpace fake;
  fake.add("tiled", "clock_mhz select(TILE == 8, 1400, 1500)");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const Result& low = result_of(summary.problems.front(), "tiled", "TILE=8,ITEMS=2");
  EXPECT_EQ(low.stage, Stage::final);
  EXPECT_TRUE(low.measurement.throttled);
  EXPECT_EQ(low.measurement.sm_clock_mhz, 1400);
  EXPECT_EQ(low.measurement.discarded, 3 * std::ssize(low.measurement.samples_ms));
  EXPECT_TRUE(run.log->last("tiled", "TILE=8,ITEMS=2")->measurement.throttled);
  EXPECT_FALSE(
      result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=2").measurement.throttled);
}

TEST(TuningLoop, EndsWhenTheDeviceHasBeenBusyForSoLong) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run");
  FakeRun run(fake);
  run.request.options.max_deadline_s = run.request.options.min_deadline_s = 0.2;
  run.request.options.budget.max_device_seconds = 0.5;
  const TuningSummary summary = run.run();
  EXPECT_TRUE(summary.out_of_budget);
  EXPECT_GT(summary.device_s, 0.4);
  EXPECT_LT(summary.device_s, summary.elapsed_s);
  EXPECT_LT(summary.problems.front().results.size(), kConfigurations);
  EXPECT_THAT(run.log->open, IsEmpty());
}

TEST(TuningLoop, LeavesTheQuarantinedAloneUnlessAsked) {
  const FakeSpace fake;
  FakeRun first(fake);
  first.run();
  Result quarantined = *first.log->last("tiled", "TILE=8,ITEMS=2");
  set_failure(quarantined, failure(kQuarantined, "twice"));
  first.log->records.push_back(quarantined);

  FakeRun second(fake);
  second.log = first.log;
  EXPECT_EQ(second.run().evaluated, 0u);
  FakeRun third(fake);
  third.log = first.log;
  third.request.options.retry_quarantined = true;
  EXPECT_EQ(third.run().evaluated, 1u);
  EXPECT_EQ(first.log->last("tiled", "TILE=8,ITEMS=2")->status, Status::correct);
}

TEST(Deadline, IsTightOnceTheKernelsBestIsKnown) {
  const TuningOptions options;
  const Pace gemm = {.median_ms = 4, .launches = 10, .evaluation_s = 0.4};
  EXPECT_DOUBLE_EQ(deadline_s(options, gemm, 2.3), 5 + 0.8 + 20 * 0.04);
  EXPECT_DOUBLE_EQ(deadline_s(options, std::nullopt, 2.3), 60) << "a default";
  EXPECT_DOUBLE_EQ(deadline_s(options, std::nullopt, 100), 300) << "a slow device";
  const Pace slow = {.median_ms = 1000, .launches = 10, .evaluation_s = 11};
  EXPECT_DOUBLE_EQ(deadline_s(options, slow, 11), 60);
}

TEST(Deadline, OfAnEndlessLoopIsNotThatOfTheSlowestKernel) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run when TILE == 4");
  FakeRun run(fake);
  run.request.options.min_deadline_s = 0.3;
  run.request.options.max_deadline_s = 30;
  run.request.options.window = 1;
  const TuningSummary summary = run.run();
  int hung = 0;
  for (const Result& result : summary.problems.front().results) {
    if (result.status != Status::timeout || result.configuration.at("TILE") != Value(4)) continue;
    ++hung;
    double waited_s = 0;
    ASSERT_EQ(std::sscanf(result.detail.c_str(), "no answer after %lf s", &waited_s), 1);
    EXPECT_LT(waited_s, 30) << result.detail;
  }
  EXPECT_EQ(hung, 3);
}

TEST(Deadline, FollowsFromWhatAnEarlierRunMeasured) {
  const FakeSpace healthy;
  FakeRun first(healthy);
  first.run();
  FakeSpace fake;
  fake.add("tiled", "fault hang in run when TILE == 4 && ITEMS == 1");
  FakeRun run(fake);
  run.own_log.records = first.own_log.records;
  std::erase_if(run.own_log.records, [](const Result& result) {
    return result.configuration == parse_key("TILE=4,ITEMS=1");
  });
  run.request.options.min_deadline_s = 0.3;
  run.request.options.max_deadline_s = 30;
  const TuningSummary summary = run.run();
  EXPECT_EQ(summary.evaluated, 1u);
  const Result& hung = result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=1");
  EXPECT_EQ(hung.status, Status::timeout);
  EXPECT_THAT(hung.detail, testing::StartsWith("no answer after 0.3"));
}

TEST(TuningLoop, RemembersWhichOfItsTiesWasChosen) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ncomputes out[i] = in[i] + 1\nnoise_percent 0.2\n"
      "time_ns 2000 + 100 * abs(TILE - 8)\nstatic_shared 1024 - 256 * ITEMS\n";
  FakeRun run(fake);
  const TuningSummary first = run.run();
  EXPECT_EQ(best_key(first.problems.front()), "tiled ITEMS=4,TILE=8");
  std::vector<std::string> chosen;
  for (const Result& result : run.own_log.records) {
    if (result.chosen) chosen.push_back(result.kernel + " " + key(result.configuration));
  }
  EXPECT_THAT(chosen, testing::ElementsAre("tiled ITEMS=4,TILE=8"));

  // The choice is kept even when the reason for it can no longer be seen.
  for (Result& result : run.own_log.records) {
    for (LaunchResult& launch : result.launches) launch.resources.static_shared_bytes = 0;
    if (result.chosen) result.measurement.median_ms *= 1.003;
  }
  const TuningSummary again = run.run();
  EXPECT_EQ(again.evaluated, 0u);
  EXPECT_EQ(best_key(again.problems.front()), "tiled ITEMS=4,TILE=8");
}

TEST(TuningLoop, StopsWithTheBestSoFarWhenAsked) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.grace_s = 60;
  run.observer.result = [&](const Result& result, bool) {
    if (result.timed()) run.stop = true;
  };
  const TuningSummary summary = run.run();
  EXPECT_TRUE(summary.interrupted);
  ASSERT_TRUE(summary.problems.front().best());
  EXPECT_EQ(summary.problems.front().best()->stage, Stage::screen);
  EXPECT_LT(summary.problems.front().results.size(), kConfigurations);
  EXPECT_THAT(run.log->open, IsEmpty());
}

TEST(TuningLoop, FinishesWhatHangsWithinItsDeadlineWhenAskedToStop) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run");
  FakeRun run(fake);
  run.request.options.max_deadline_s = run.request.options.min_deadline_s = 0.3;
  run.request.options.grace_s = 60;
  run.observer.progress = [&](const Progress& progress) {
    if (progress.phase == "search" && !run.log->open.empty()) run.stop = true;
  };
  const TuningSummary summary = run.run();
  EXPECT_TRUE(summary.interrupted);
  EXPECT_THAT(run.log->open, IsEmpty());
}

/// Sets deadlines that no test reaches: whatever ends earlier was given up.
void let_hang(FakeRun& run) {
  run.request.options.min_deadline_s = run.request.options.max_deadline_s = 3600;
  run.request.options.prepare_deadline_s = 3600;
  run.request.options.grace_s = 0.1;
}

TEST(TuningLoop, GivesUpWhatHangsWhenAskedToStop) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in run");
  FakeRun run(fake);
  let_hang(run);
  run.observer.progress = [&](const Progress& progress) {
    const auto& open = run.log->open;
    if (progress.phase == "search" && !open.empty() && open.back().kernel == "tiled") {
      run.stop = true;
    }
  };
  EXPECT_TRUE(run.run().interrupted);
  EXPECT_THAT(run.notes, Contains(StartsWith("abandoned while it was being measured: ")));
}

TEST(TuningLoop, GivesUpPreparingWhenItsTimeIsUpOrItIsAskedToStop) {
  FakeSpace fake;
  fake.add("naive", "fault hang in run");
  for (const bool stop : {false, true}) {
    FakeRun run(fake);
    let_hang(run);
    run.request.options.budget.max_seconds = stop ? 0 : 0.2;
    run.observer.progress = [&](const Progress& progress) {
      if (stop && progress.compiled > 0) run.stop = true;
    };
    const TuningSummary summary = run.run();
    EXPECT_EQ(summary.interrupted, stop);
    EXPECT_EQ(summary.out_of_budget, !stop);
    EXPECT_FALSE(summary.problems.front().best());
    EXPECT_EQ(summary.problems.front().evaluated, 0u);
  }
}

TEST(TuningLoop, CountsItsTimeFromWhenTheCommandWasGiven) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.budget.max_seconds = 1000;
  run.request.begun = std::chrono::steady_clock::now() - std::chrono::seconds(2000);
  const TuningSummary summary = run.run();
  EXPECT_TRUE(summary.out_of_budget);
  EXPECT_GE(summary.elapsed_s, 2000);
  EXPECT_EQ(summary.evaluated, 0u);
}

TEST(TuningLoop, GivesUpTheFinalsWhenItsTimeIsUp) {
  FakeSpace fake;
  fake.add("tiled", "fault hang in time when TIMES > 3");
  FakeRun run(fake);
  let_hang(run);
  run.observer.progress = [&](const Progress& progress) {
    double& most_s = run.request.options.budget.max_seconds;
    if (progress.phase == "finals" && most_s == 0) most_s = progress.elapsed_s + 0.3;
  };
  const TuningSummary summary = run.run();
  EXPECT_TRUE(summary.out_of_budget);
  ASSERT_TRUE(summary.problems.front().best());
  EXPECT_EQ(summary.problems.front().best()->stage, Stage::screen);
}

TEST(TuningLoop, GivesUpListingConfigurationsWhenItsTimeIsUpOrItIsAskedToStop) {
  FakeSpace fake;
  KernelTemplate& tiled = fake.kernel("tiled");
  std::string sum = "TILE";
  for (int i = 0; i < 20; ++i) {
    Parameter parameter = {.name = "P" + std::to_string(i), .values = {}};
    for (std::int64_t value = 1; value <= 30; ++value) parameter.values.emplace_back(value);
    tiled.default_configuration.emplace(parameter.name, std::int64_t{1});
    tiled.parameters.push_back(std::move(parameter));
    sum += " + P" + std::to_string(i);
  }
  tiled.constraints.push_back({sum + " == 640", "/test"});
  for (const bool stop : {false, true}) {
    FakeRun run(fake);
    run.request.options.budget.max_seconds = stop ? 0 : 0.2;
    run.request.options.grace_s = 0;
    run.observer.progress = [&](const Progress&) { run.stop = stop; };
    const TuningSummary summary = run.run();
    EXPECT_EQ(summary.interrupted, stop);
    EXPECT_EQ(summary.out_of_budget, !stop);
    ASSERT_THAT(summary.problems, SizeIs(1));
    EXPECT_THAT(summary.problems.front().results, IsEmpty());
    EXPECT_THAT(run.notes, Contains(StartsWith("abandoned while the valid configurations")));
  }
}

/// A run of naive alone, whose default is 64: nothing else confirms its outputs, and all other
/// configurations differ.
struct OnlyWitness {
  explicit OnlyWitness(const std::string& out) {
    fake.kernel("naive").parameters.front().values.clear();
    for (const std::int64_t block : {64, 128, 256, 512, 1024}) {
      fake.kernel("naive").parameters.front().values.emplace_back(block);
    }
    fake.add("naive", "computes out[i] = " + out);
    fake.add("naive", "fault mismatch in run when BLOCK != 64");
  }

  ProblemSummary run() {
    FakeRun run(fake);
    run.request.kernels = {&fake.kernel("naive")};
    run.log = &log;
    return run.run().problems.front();
  }

  FakeSpace fake;
  MemoryLog log;
};

TEST(TuningLoop, DoubtsADefaultThatOthersContradictTogether) {
  OnlyWitness alike("in[i] + min(BLOCK, 65)");
  const DefaultInDoubt doubt = {.kernel = "naive", .agreeing = 4, .others = 4};
  EXPECT_EQ(alike.run().default_in_doubt, doubt);
  EXPECT_EQ(alike.run().default_in_doubt, doubt) << "known or not";

  EXPECT_FALSE(OnlyWitness("in[i] + BLOCK").run().default_in_doubt) << "all differ";

  OnlyWitness proven("in[i] + min(BLOCK, 65)");
  proven.fake.space.verify.definitions = {{"out[i] = in[i] + 64", "/test"}};
  EXPECT_FALSE(proven.run().default_in_doubt);
}

TEST(TuningLoop, SaysOfWhichOutputOnlyTheSumWasCompared) {
  FakeSpace fake;
  for (const char* const kernel : {"naive", "tiled"}) {
    fake.kernel(kernel).arguments[1].compares_sum = true;
  }
  FakeRun run(fake);
  const ProblemSummary problem = run.run().problems.front();
  ASSERT_TRUE(problem.best());
  for (const ComparedOutput& one : problem.best()->compared) {
    EXPECT_EQ(one.output, "out");
    EXPECT_TRUE(one.only_sum);
  }
  EXPECT_THAT(problem.best()->coverage().sums, testing::ElementsAre("out"));
}

TEST(TuningLoop, RejectsBeforeCompilingWhatTheDeviceCannotHold) {
  FakeSpace fake;
  fake.kernel("tiled").launches.front().block = {{"64 * TILE + 1", "/test"}};
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const Result& result = result_of(summary.problems.front(), "tiled", "TILE=16,ITEMS=2");
  EXPECT_EQ(result.status, Status::constraints);
  EXPECT_EQ(result.reason, "threads");
  EXPECT_THAT(result.launches, IsEmpty());
  EXPECT_NE(run.log->last("tiled", "TILE=16,ITEMS=2"), nullptr);
  EXPECT_EQ(summary.evaluated, kConfigurations - 3);  // TILE 16 with three values of ITEMS.
}

TEST(TuningLoop, RejectsAfterCompilingWhatTheDeviceCannotHold) {
  FakeSpace fake;
  fake.add("tiled", "registers select(TILE == 16, 255, 32)");
  fake.kernel("tiled").launches.front().block = {{"512", "/test"}};
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const Result& result = result_of(summary.problems.front(), "tiled", "TILE=16,ITEMS=2");
  EXPECT_EQ(result.status, Status::constraints);
  EXPECT_EQ(result.reason, "registers");
  ASSERT_THAT(result.launches, SizeIs(1));
  EXPECT_EQ(result.launches[0].resources.registers_per_thread, 255);
  EXPECT_EQ(summary.first_failure->reason, "registers");
}

TEST(TuningLoop, AConfigurationWithoutALaunchShapeIsAFailure) {
  FakeSpace fake;
  fake.kernel("tiled").launches.front().grid = {{"N / (TILE - 4)", "/test"}};
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  EXPECT_EQ(result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=2").reason, "expression");
  EXPECT_EQ(best_key(summary.problems.front()), "tiled ITEMS=2,TILE=8");
}

TEST(TuningLoop, AConfigurationWithoutAMetricIsAFailure) {
  FakeSpace fake;
  fake.kernel("tiled").metrics = {{"bytes", {"8 * N / (TILE - 4)", "/test"}}};
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  EXPECT_EQ(result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=2").reason, "expression");
  EXPECT_EQ(best_key(summary.problems.front()), "tiled ITEMS=2,TILE=8");
}

TEST(TuningLoop, SaysWhenADefaultIsNotValid) {
  FakeSpace fake;
  fake.kernel("tiled").constraints = {{"TILE > 1", "/test"}};
  FakeRun run(fake);
  run.run();
  EXPECT_THAT(run.notes, Contains(HasSubstr("ITEMS=1,TILE=1")));
}

TEST(TuningLoop, CutsWhatIsFarSlowerThanTheBestButNeverADefault) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns select(TILE <= 2, 1000000, 2000)\n";
  fake.kernel("tiled").default_configuration = parse_key("TILE=1,ITEMS=1");
  FakeRun run(fake);
  run.request.options.screen_samples = 5;
  const TuningSummary summary = run.run();
  const ProblemSummary& problem = summary.problems.front();
  const Result& users = result_of(problem, "tiled", "TILE=1,ITEMS=1");
  EXPECT_EQ(users.stage, Stage::final) << "so that it can be said what the best gains over it";
  EXPECT_THAT(users.measurement.samples_ms, SizeIs(testing::Ge(5u)));
  std::size_t cut = 0;
  for (const Result& result : problem.results) {
    if (result.detail.empty()) continue;
    EXPECT_THAT(result.detail, HasSubstr("timed and compared once only"));
    EXPECT_THAT(result.measurement.samples_ms, SizeIs(1));
    ++cut;
  }
  EXPECT_GE(cut, 3u);  // The first ones may run before there is a best.
}

TEST(TuningLoop, SaysOnlyOfWhatHasFewerSamplesThatItWasCut) {
  FakeSpace fake;
  fake.give_items(40);
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns select(TILE <= 8, 195000, 100000)\nnoise_percent 5\n";
  FakeRun run(fake);
  run.request.options.early_loss = false;
  run.run();
  std::size_t cut = 0;
  std::size_t whole = 0;
  for (const Result& result : run.own_log.records) {
    if (result.kernel != "tiled" || result.stage != Stage::screen) continue;
    const bool was_cut = result.measurement.samples_ms.size() < 3;
    EXPECT_EQ(was_cut, !result.detail.empty()) << result.detail;
    ++(was_cut ? cut : whole);
  }
  EXPECT_GT(cut, 10u);
  EXPECT_GT(whole, 10u);
}

TEST(TuningLoop, TakesFewerSamplesOfWhatTakesLong) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text = "kernel tiled(TILE, ITEMS)\ntime_ns 32000000 / TILE\n";
  FakeRun run(fake);
  run.request.options.screen_ms = 20;
  run.request.options.cut_factor = 100;
  run.request.options.early_loss = false;
  run.run();
  const std::map<std::int64_t, std::size_t> samples = {{1, 1}, {2, 2}, {4, 3}, {8, 3}, {16, 3}};
  std::size_t screened = 0;
  for (const Result& result : run.own_log.records) {
    if (result.kernel != "tiled" || result.stage != Stage::screen) continue;
    const std::int64_t tile = std::get<std::int64_t>(result.configuration.at("TILE"));
    EXPECT_THAT(result.measurement.samples_ms, SizeIs(samples.at(tile))) << tile;
    EXPECT_EQ(result.detail, "");
    ++screened;
  }
  EXPECT_EQ(screened, 15u);
}

TEST(TuningLoop, CompilesWhatIsOnlyVerifiedOnceForAllProblems) {
  FakeSpace fake;
  fake.space.problems = {parse_key("N=1000"), parse_key("N=2000"), parse_key("N=3000")};
  fake.space.verify.also = {parse_key("N=17"), parse_key("N=1000")};
  LaunchTemplate& launch = fake.kernel("tiled").launches.front();
  launch.template_arguments.push_back({"N", "/test"});
  launch.entry = "tiled<TILE,ITEMS,N>";
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS, COUNT)\ncomputes out[i] = in[i] + 1\n";
  FakeRun run(fake);
  std::uint64_t compiled = 0;
  run.observer.progress = [&](const Progress& progress) { compiled = progress.compiled; };
  const TuningSummary summary = run.run();
  ASSERT_THAT(summary.problems, SizeIs(3));
  for (const ProblemSummary& problem : summary.problems) EXPECT_EQ(problem.best()->kernel, "tiled");
  EXPECT_EQ(compiled, 15u * 4 + 1) << "four sizes, and the reference that is the same for all";
}

TEST(TuningLoop, MeasuresADefaultInFullAlsoWhereOneOfItsCodeWasCut) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns select(TILE == 16, 1000000, 2000)\ncode TILE\n";
  fake.kernel("tiled").default_configuration = parse_key("TILE=16,ITEMS=4");
  FakeRun run(fake);
  run.request.only = {{"tiled", parse_key("TILE=1,ITEMS=1")},
                      {"tiled", parse_key("TILE=16,ITEMS=1")},
                      {"tiled", parse_key("TILE=16,ITEMS=4")}};
  run.request.options.window = 1;
  run.request.options.screen_samples = 5;
  std::map<std::string, std::size_t> screened;
  run.observer.result = [&](const Result& result, bool) {
    screened[key(result.configuration)] = result.measurement.samples_ms.size();
  };
  run.run();
  EXPECT_EQ(screened["ITEMS=1,TILE=16"], 1u);
  EXPECT_EQ(screened["ITEMS=4,TILE=16"], 5u);
}

TEST(TuningLoop, SaysWhereTheDriverDiffersFromTheCompiler) {
  FakeSpace fake;
  fake.add("tiled", "driver_registers select(TILE == 8, 40, 32)");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  EXPECT_THAT(result_of(summary.problems.front(), "tiled", "TILE=8,ITEMS=4").detail,
              HasSubstr("registers: 32 by the compiler, 40 by the driver"));
  EXPECT_EQ(result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=4").detail, "");
}

TEST(TuningLoop, UnloadsWhatItHasMeasured) {
  FakeSpace fake;
  for (Parameter& tunable : fake.kernel("tiled").parameters) {
    tunable.values.clear();
    for (std::int64_t value = 1; value <= 14; ++value) tunable.values.emplace_back(value);
  }
  FakeRun run(fake);
  run.request.options.finalists = 4;
  const TuningSummary summary = run.run();
  EXPECT_EQ(summary.evaluated, 14u * 14u + 1u);  // More than FakeLauncher::kMaxLoaded.
  EXPECT_FALSE(summary.first_failure);
}

TEST(TuningLoop, TunesEveryProblemAndCompilesWhatIsEqualOnce) {
  FakeSpace fake;
  fake.space.problems = {{{"N", std::int64_t{1000}}}, {{"N", std::int64_t{2000}}}};
  FakeRun run(fake);
  std::uint64_t compiled = 0;
  run.observer.progress = [&](const Progress& progress) {
    compiled = progress.compiled;
    EXPECT_EQ(progress.problem_count, 2u);
  };
  const TuningSummary summary = run.run();
  ASSERT_THAT(summary.problems, SizeIs(2));
  EXPECT_EQ(summary.problems[1].problem, parse_key("N=2000"));
  EXPECT_EQ(best_key(summary.problems[1]), "tiled ITEMS=2,TILE=8");
  EXPECT_EQ(summary.evaluated, 2 * kConfigurations);
  EXPECT_EQ(compiled, kConfigurations);
}

TEST(TuningLoop, MeasuresBeforeOneCompilerHasCompiledAll) {
  FakeSpace fake;
  fake.give_items(100);
  fake.add("tiled", "fault pause in compile when ITEMS % 16 == 0");
  FakeRun run(fake);
  run.workers = fake_workers(1);
  run.request.options.window = 500;
  std::optional<std::uint64_t> compiled;
  run.observer.progress = [&](const Progress& progress) {
    if (progress.phase != "search" || progress.done == 0) return;
    if (!compiled) compiled = progress.compiled;
    run.stop = true;
  };
  run.run();
  EXPECT_LT(compiled, 400);
}

TEST(TuningLoop, FillsBuffersOnceAndWhileTheReferenceIsCompiled) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("naive", "fault wait_filled in compile");
  FakeRun run(fake);
  run.workers.compile_timeout_s = 20;
  EXPECT_EQ(run.run().evaluated, kConfigurations);
  // A problem has two sets of data.
  EXPECT_EQ(smemtune::fake::files_in_folder("filled-"), 2);
}

TEST(TuningLoop, WritesAResultDownTogetherWithTheNextAttempt) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.window = kConfigurations;
  std::uint64_t compiled = 0;
  int commits = 0;
  run.observer.progress = [&](const Progress& progress) {
    compiled = progress.compiled;
    if (progress.phase == "search") commits = run.own_log.commits;
  };
  // A result does not wait for the next configuration if that is not compiled yet.
  run.observer.may_use_devices = [&] { return compiled == kConfigurations; };
  run.run();
  EXPECT_EQ(commits, kConfigurations + 1);
}

TEST(TuningLoop, WritesDownTogetherWhatNeedsNoDevice) {
  FakeSpace fake;
  fake.kernel("tiled").launches.front().block = {{"2048", "/test"}};
  FakeRun run(fake);
  run.request.options.window = kConfigurations;
  run.run();
  EXPECT_THAT(run.own_log.records, SizeIs(testing::Ge(kConfigurations)));
  EXPECT_LE(run.own_log.commits, 5);
}

TEST(TuningLoop, MeasuresEqualCodeOnce) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns 2000 + 100 * abs(TILE - 8)\ncode TILE\n";
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const ProblemSummary& problem = summary.problems.front();
  EXPECT_EQ(summary.evaluated, kConfigurations);
  EXPECT_THAT(run.log->attempts, SizeIs(5 + 1));
  EXPECT_THAT(problem.bests.tied, SizeIs(2));
  for (const char* tile : {"1", "2", "4", "8", "16"}) {
    std::set<std::vector<double>> samples_ms;
    std::set<std::string> hashes;
    int said = 0;
    for (const char* items : {"1", "2", "4"}) {
      const std::string configuration = std::string("TILE=") + tile + ",ITEMS=" + items;
      const Result& result = result_of(problem, "tiled", configuration);
      EXPECT_TRUE(result.timed());
      samples_ms.insert(result.measurement.samples_ms);
      hashes.insert(result.cubin_sha256);
      said += result.detail.find("measured once with tiled ITEMS=") == 0 ? 1 : 0;
      ASSERT_NE(run.log->last("tiled", configuration), nullptr);
      EXPECT_EQ(run.log->last("tiled", configuration)->stage, result.stage);
    }
    EXPECT_THAT(samples_ms, SizeIs(1));
    EXPECT_THAT(hashes, SizeIs(1));
    EXPECT_EQ(said, 2) << "TILE=" << tile;
  }
}

TEST(TuningLoop, TellsOfAParameterWithoutEffectOnCodeAndLaunches) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns 2000 + 100 * abs(TILE - 8)\ncode TILE\n";
  FakeRun whole(fake);
  EXPECT_THAT(whole.run().problems.front().without_effect,
              testing::ElementsAre(testing::StartsWith("ITEMS of tiled has no effect: ")));
  FakeRun sample(fake);
  sample.request.options.budget.max_evaluations = 8;  // Seven of fifteen.
  EXPECT_THAT(sample.run().problems.front().without_effect, testing::IsEmpty());
  fake.kernel("tiled").launches.front().block = {{"32 * ITEMS", "/test"}};
  FakeRun launched_otherwise(fake);
  EXPECT_THAT(launched_otherwise.run().problems.front().without_effect, testing::IsEmpty());
}

TEST(TuningLoop, DoesNotTakeAFewNewResultsForAllThatIsKnownOfAParameter) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns 2000\ncode 8 * TILE + (TILE < 16 ? ITEMS : 0)\n";
  std::vector<Value>& tiles = fake.kernel("tiled").parameters.front().values;
  tiles.pop_back();
  FakeRun narrow(fake);
  narrow.run();
  tiles.emplace_back(std::int64_t{16});
  FakeRun widened(fake);
  widened.log = narrow.log;
  const TuningSummary summary = widened.run();
  EXPECT_EQ(summary.evaluated, 3u);
  EXPECT_THAT(summary.problems.front().without_effect, testing::IsEmpty());
}

TEST(TuningLoop, MeasuresEqualCodeAgainWhereItIsLaunchedInAnotherWay) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns 2000 + 100 * abs(TILE - 8)\ncode TILE\n";
  fake.kernel("tiled").launches.front().block = {{"32 * ITEMS", "/test"}};
  FakeRun run(fake);
  run.run();
  EXPECT_THAT(run.log->attempts, SizeIs(kConfigurations));
}

TEST(TuningLoop, CompilesOnceWhatDiffersOnlyInItsLaunch) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE)\ntime_ns 2000 + 100 * abs(TILE - 8)\n";
  LaunchTemplate& launch = fake.kernel("tiled").launches.front();
  launch.template_arguments = {{"TILE", "/test"}};
  launch.entry = "tiled<TILE>";
  launch.block = {{"32 * ITEMS", "/test"}};
  FakeRun run(fake);
  std::uint64_t compiled = 0;
  run.observer.progress = [&](const Progress& progress) { compiled = progress.compiled; };
  EXPECT_EQ(run.run().evaluated, kConfigurations);
  EXPECT_EQ(compiled, 5u + 1u);
  EXPECT_THAT(run.log->attempts, SizeIs(kConfigurations));
}

TEST(TuningLoop, AFinalistThatTurnsOutWrongTakesItsEqualsWithIt) {
  FakeSpace fake;
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ntime_ns 2000 + 100 * abs(TILE - 8)\ncode TILE\n"
      "fault mismatch in run when TILE == 8 && TIMES > 3\n";
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const ProblemSummary& problem = summary.problems.front();
  for (const char* configuration : {"TILE=8,ITEMS=1", "TILE=8,ITEMS=2", "TILE=8,ITEMS=4"}) {
    EXPECT_EQ(result_of(problem, "tiled", configuration).status, Status::correctness);
    EXPECT_EQ(run.log->last("tiled", configuration)->status, Status::correctness);
  }
  EXPECT_TRUE(problem.best());
}

TEST(TuningLoop, ShowsResultsThatWaitForTheCompilerOfEarlierOnes) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("tiled", "fault wait in compile when TILE == 1");
  FakeRun run(fake);
  run.workers.compile_workers = 5;
  run.workers.compile_timeout_s = 120;
  run.observer.progress = [&](const Progress& progress) {
    if (progress.done >= 3) folder.let_happen();
  };
  EXPECT_FALSE(run.run().first_failure) << "only naive is told before the default that waits";
}

TEST(TuningLoop, SharesABudgetBetweenProblems) {
  FakeSpace fake;
  fake.space.problems = {{{"N", std::int64_t{1000}}}, {{"N", std::int64_t{2000}}}};
  FakeRun run(fake);
  run.request.options.budget.max_evaluations = 8;
  const TuningSummary summary = run.run();
  ASSERT_THAT(summary.problems, SizeIs(2));
  EXPECT_EQ(summary.problems[0].evaluated, 4u);
  EXPECT_EQ(summary.problems[1].evaluated, 4u);
}

/// Two problems whose winners are far from each other, in a space that is not searched as a whole.
FakeSpace two_winners() {
  FakeSpace fake;
  fake.give_items(200);
  fake.space.problems = {parse_key("N=1000"), parse_key("N=2000")};
  fake.sources["tiled"].files.front().text =
      "kernel tiled(TILE, ITEMS)\ncomputes out[i] = in[i] + 1\n"
      "time_ns 2000 + 100 * abs(TILE - 8) + 50 * abs(ITEMS - select(n > 1500, 190, 10))\n";
  return fake;
}

bool has_result(const ProblemSummary& problem, const Result& of) {
  return std::ranges::any_of(problem.results, [&](const Result& one) {
    return one.kernel == of.kernel && one.configuration == of.configuration;
  });
}

TEST(TuningLoop, MeasuresWinnersForTheOtherProblemsOfTheRun) {
  const FakeSpace fake = two_winners();
  FakeRun run(fake);
  run.request.options.strategy = "auto";
  run.request.options.budget.until_percent = 1;
  run.request.options.cold = true;  // Else the second problem tries the first one's winner anyway.
  run.request.begun = std::chrono::steady_clock::now() - std::chrono::hours(1);
  const TuningSummary summary = run.run();
  ASSERT_THAT(summary.problems, SizeIs(2));
  const ProblemSummary& small = summary.problems[0];
  const ProblemSummary& large = summary.problems[1];
  EXPECT_LT(small.results.size(), 1001u) << "or nothing could be missing";
  EXPECT_NE(best_key(small), best_key(large));
  EXPECT_TRUE(has_result(small, *large.best()));
  EXPECT_TRUE(has_result(large, *small.best()));
  for (const ProblemSummary& problem : summary.problems) {
    EXPECT_EQ(problem.results.size(), problem.evaluated) << "each once";
  }
  EXPECT_FALSE(summary.out_of_budget);
  EXPECT_THAT(run.notes,
              Contains(testing::ContainsRegex("measured [12] winners? for other problems, "
                                              "for sizes that were not tuned")));
}

TEST(TuningLoop, MeasuresNoWinnersElsewhereThatItHasNoTimeFor) {
  const FakeSpace fake = two_winners();
  for (const double share : {0.0, 1.0}) {
    FakeRun run(fake);
    run.request.options.strategy = "auto";
    run.request.options.cold = true;
    run.request.begun = std::chrono::steady_clock::now() - std::chrono::hours(1);
    Budget& budget = run.request.options.budget;
    budget.until_percent = 1;
    // Each problem may evaluate all of its 1001 configurations, or nothing is left for winners.
    budget.max_evaluations = share > 0 ? 4000 : 100;
    const TuningSummary summary = run.run();
    const auto is_said = Contains(HasSubstr("for other problems"));
    if (share > 0) {
      EXPECT_THAT(run.notes, is_said);
    } else {
      EXPECT_EQ(summary.evaluated, 100u);
      EXPECT_THAT(run.notes, testing::Not(is_said));
    }
  }
}

/// Passes parameters and sizes as macros, so that each problem has code of its own.
void pass_macros(KernelTemplate& kernel) {
  kernel.pass = KernelTemplate::Pass::as_define;
  kernel.launches.front().template_arguments.clear();
  kernel.launches.front().entry = kernel.name;
}

TEST(TuningLoop, CompilesForFurtherProblemsOnlyWhatHasNotLost) {
  FakeSpace fake;
  fake.give_items(40);
  pass_macros(fake.kernel("tiled"));
  fake.sources["tiled"].files.front().text =
      "kernel tiled()\ncomputes out[i] = in[i] + 1\n"
      "time_ns 2000 + 400 * abs(TILE - 8) + 300 * abs(ITEMS - 20)\n"
      // One that does not lose is wrong where N is not 1000.
      "fault mismatch in run when n == 17 && ITEMS == 21\n";
  fake.space.problems = {parse_key("N=1000")};
  fake.space.verify.also = {parse_key("N=17")};
  FakeRun run(fake);
  std::uint64_t compiled = 0;
  run.observer.progress = [&](const Progress& progress) { compiled = progress.compiled; };
  const TuningSummary summary = run.run();
  const ProblemSummary& problem = summary.problems.front();
  EXPECT_EQ(best_key(problem), "tiled ITEMS=20,TILE=8");
  std::size_t lost = 0;
  for (const Result& result : problem.results) {
    lost += result.given_up ? 1 : 0;
    if (result.kernel != "tiled" || result.given_up) continue;
    EXPECT_EQ(result.status == Status::correctness,
              result.configuration.at("ITEMS") == Value(std::int64_t{21}))
        << key(result.configuration);
  }
  EXPECT_GT(lost, 50u);
  const std::uint64_t all = 2 * (problem.results.size() - 1) + 1;  // The reference has no macro.
  EXPECT_LE(compiled, all - lost / 2) << lost << " have lost";
  EXPECT_THAT(run.log->open, IsEmpty());
}

TEST(TuningLoop, CompilesMacrosForEachProblemOfASet) {
  FakeSpace fake;
  pass_macros(fake.kernel("tiled"));
  fake.sources["tiled"].files.front().text =
      "kernel tiled()\ntime_ns 2000 + 100 * abs(TILE - 8) + 50 * abs(ITEMS - 2)\n"
      // The macro N is the size of the problem that is run.
      "fault mismatch in run when n != N\n";
  fake.space.verify.also = {parse_key("N=999"), parse_key("N=17")};
  FakeRun run(fake);
  std::uint64_t compiled = 0;
  run.observer.progress = [&](const Progress& progress) { compiled = progress.compiled; };
  const TuningSummary summary = run.run();
  EXPECT_FALSE(summary.first_failure);
  EXPECT_EQ(best_key(summary.problems.front()), "tiled ITEMS=2,TILE=8");
  EXPECT_EQ(compiled, 15u * 3u + 1u);
}

TEST(TuningLoop, ExpectsToEndWithItsTimeOnTheDevice) {
  FakeSpace fake;
  fake.give_items(1000);
  fake.add("tiled", "fault pause in run");
  FakeRun run(fake);
  run.request.options.budget.max_device_seconds = 4;
  std::size_t said = 0;
  double most_s = 0;
  run.observer.progress = [&](const Progress& progress) {
    // The first estimates are about compiling.
    if (progress.phase != "search" || !progress.remaining_s || progress.done < 5) return;
    ++said;
    most_s = std::max(most_s, *progress.remaining_s);
  };
  const TuningSummary summary = run.run();
  EXPECT_TRUE(summary.out_of_budget);
  EXPECT_GT(said, 0u);
  EXPECT_LT(most_s, 100) << "all 5000 take more than 100 seconds";
}

TEST(TuningLoop, ShowsHowFarItIs) {
  const FakeSpace fake;
  FakeRun run(fake);
  std::vector<std::string> phases;
  Progress last;
  run.observer.progress = [&](const Progress& progress) {
    if (phases.empty() || phases.back() != progress.phase) phases.push_back(progress.phase);
    EXPECT_GE(progress.done, last.done);
    last = progress;
  };
  run.run();
  EXPECT_EQ(phases.front(), "prepare");
  EXPECT_THAT(phases, Contains("search"));
  EXPECT_EQ(phases.back(), "finals");
  EXPECT_EQ(last.done, kConfigurations);
  EXPECT_EQ(last.valid, kConfigurations);
  EXPECT_EQ(last.failed, 0u);
  EXPECT_EQ(last.best->kernel, "tiled");
}

/// Returns kernel and configuration of each result, in the order told.
std::vector<std::string> keys(const ProblemSummary& problem) {
  std::vector<std::string> keys;
  for (const Result& result : problem.results) {
    keys.push_back(result.kernel + " " + key(result.configuration));
  }
  return keys;
}

TEST(DryRun, CompilesAndJudgesWithoutADevice) {
  FakeSpace fake;
  fake.add("tiled", "fault error in compile when TILE == 2");
  fake.add("tiled", "static_shared select(TILE == 4, 300000, 0)");
  FakeRun run(fake);
  const TuningSummary summary = run.run_dry();
  const ProblemSummary& problem = summary.problems.front();
  EXPECT_THAT(problem.results, SizeIs(kConfigurations));
  EXPECT_EQ(result_of(problem, "tiled", "TILE=8,ITEMS=1").status, Status::fits);
  EXPECT_EQ(result_of(problem, "tiled", "TILE=8,ITEMS=1").stage, Stage::none);
  EXPECT_EQ(result_of(problem, "tiled", "TILE=2,ITEMS=1").status, Status::compile);
  EXPECT_EQ(result_of(problem, "tiled", "TILE=4,ITEMS=1").reason, "shared_bytes");
  EXPECT_FALSE(problem.best());
  EXPECT_THAT(run.log->records, IsEmpty());
  EXPECT_EQ(key(problem.results[0].configuration), "BLOCK=64");
  EXPECT_EQ(key(problem.results[1].configuration), "ITEMS=1,TILE=1");
}

TEST(DryRun, TakesSomeBySeedAndTellsThemInTheSpacesOrder) {
  const FakeSpace fake;
  const auto told = [&](std::uint64_t seed, std::uint64_t most) {
    FakeRun run(fake);
    run.request.options.seed = seed;
    run.request.options.budget.max_evaluations = most;
    return keys(run.run_dry().problems.front());
  };
  const std::vector<std::string> all = told(1, UINT64_MAX);
  const std::vector<std::string> some = told(1, 6);
  EXPECT_THAT(all, SizeIs(kConfigurations));
  EXPECT_THAT(some, SizeIs(6));
  EXPECT_EQ(told(1, 6), some);
  EXPECT_NE(told(2, 6), some);
  std::vector<std::string> in_order = all;
  std::erase_if(in_order,
                [&](const std::string& one) { return std::ranges::find(some, one) == some.end(); });
  EXPECT_EQ(some, in_order);
}

}  // namespace
}  // namespace smemtune::test
