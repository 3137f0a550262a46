#include "tuner/engine/cpu_check.h"

#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/finals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace smemtune::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run on the fake GPU whose finalists use shared memory, with a fake device as the CPU.
struct RunWithCpu : FakeRun {
  explicit RunWithCpu(const FakeSpace& space) : FakeRun(space) {
    request.cpu = CpuBeside{.device = h200_limits(), .start = [this] {
                              ++started;
                              return std::make_shared<WorkerPool>(fake_workers(1));
                            }};
  }
  int started = 0;
};

FakeSpace space_with_shared_memory() {
  FakeSpace fake;
  fake.add("tiled", "static_shared 1024");
  return fake;
}

TEST(CpuCheck, LooksAtTheBestThatUsesSharedMemory) {
  const FakeSpace fake = space_with_shared_memory();
  RunWithCpu run(fake);
  const ProblemSummary summary = run.run().problems.front();
  ASSERT_EQ(1u, summary.best()->finals.cpu_checks.size());
  const CpuCheck& check = summary.best()->finals.cpu_checks.front();
  EXPECT_EQ(summary.best()->configuration, check.configuration);
  EXPECT_EQ(16u, check.blocks);
  EXPECT_EQ(16u, check.blocks_total);
  EXPECT_FALSE(check.found);
  EXPECT_THAT(check.not_run, IsEmpty());
  EXPECT_EQ(1, run.started);
}

TEST(CpuCheck, IsNotForWhatUsesNone) {
  const FakeSpace fake;
  RunWithCpu run(fake);
  EXPECT_THAT(run.run().problems.front().best()->finals.cpu_checks, IsEmpty());
  EXPECT_EQ(0, run.started);
}

TEST(CpuCheck, ARaceLosesToTheNextFinalistWithoutOne) {
  FakeSpace fake = space_with_shared_memory();
  fake.add("tiled", "fault race in look when TILE == 8");
  RunWithCpu run(fake);
  const ProblemSummary summary = run.run().problems.front();
  ASSERT_TRUE(summary.best());
  EXPECT_NE(parse_key("TILE=8").at("TILE"), summary.best()->configuration.at("TILE"));
  EXPECT_EQ("tiled", summary.best()->kernel);
  const Result& racy = result_of(summary, "tiled", "TILE=8,ITEMS=2");
  EXPECT_EQ(Status::correctness, racy.status);
  EXPECT_EQ("race", racy.reason);
  EXPECT_THAT(racy.detail, HasSubstr("on the CPU device: reads what another wrote"));
  const Result* const recorded = run.own_log.last("tiled", "TILE=8,ITEMS=2");
  ASSERT_NE(nullptr, recorded);
  EXPECT_EQ("race", recorded->reason);
  EXPECT_TRUE(run.own_log.open.empty());
  EXPECT_FALSE(summary.best()->finals.cpu_checks.back().found);
  EXPECT_EQ(summary.best()->configuration, summary.best()->finals.cpu_checks.back().configuration);
}

TEST(CpuCheck, ARaceOfAllIsSaidAndIsNoFailureOfTheRun) {
  FakeSpace fake = space_with_shared_memory();
  fake.add("tiled", "fault race in look");
  fake.add("naive", "static_shared 64");
  fake.add("naive", "fault race in look");
  RunWithCpu run(fake);
  const ProblemSummary summary = run.run().problems.front();
  ASSERT_TRUE(summary.best());
  EXPECT_EQ(parse_key("TILE=8,ITEMS=2"), summary.best()->configuration);
  EXPECT_EQ(Status::correct, summary.best()->status);
  EXPECT_THAT(summary.best()->detail, HasSubstr("reads what another wrote"));
  EXPECT_GE(summary.best()->finals.cpu_checks.size(), 2u);
  EXPECT_TRUE(std::ranges::all_of(summary.best()->finals.cpu_checks, &CpuCheck::has_race));
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("*** the best has a race, and so ha")));
}

TEST(CpuCheck, SaysThatItsWorkerWasLost) {
  FakeSpace fake = space_with_shared_memory();
  fake.add("tiled", "fault crash in look");
  RunWithCpu run(fake);
  const ProblemSummary summary = run.run().problems.front();
  ASSERT_TRUE(summary.best());
  ASSERT_EQ(1u, summary.best()->finals.cpu_checks.size());
  EXPECT_THAT(summary.best()->finals.cpu_checks.front().not_run, HasSubstr("its worker was lost"));
  EXPECT_FALSE(summary.best()->finals.cpu_checks.front().found);
}

TEST(CpuCheck, SaysWhatTheHostLacks) {
  const FakeSpace fake = space_with_shared_memory();
  RunWithCpu run(fake);
  run.request.cpu->start = []() -> std::shared_ptr<WorkerPool> {
    throw UnavailableError("no C++ compiler works here\nreally");
  };
  const ProblemSummary summary = run.run().problems.front();
  ASSERT_TRUE(summary.best());
  ASSERT_EQ(1u, summary.best()->finals.cpu_checks.size());
  EXPECT_EQ("no C++ compiler works here", summary.best()->finals.cpu_checks.front().not_run);
}

TEST(CpuCheck, TakesASmallerProblemWhereTheTunedOneIsTooLarge) {
  FakeSpace fake = space_with_shared_memory();
  ArgumentTemplate scratch;
  scratch.name = "scratch";
  scratch.type = "float";
  scratch.role = Role::scratch;
  scratch.shape = {{"N * 200000", "/test"}};
  fake.kernel("tiled").arguments.push_back(scratch);
  RunWithCpu without(fake);
  const ProblemSummary refused = without.run().problems.front();
  ASSERT_EQ(1u, refused.best()->finals.cpu_checks.size());
  EXPECT_THAT(refused.best()->finals.cpu_checks.front().not_run,
              HasSubstr("its buffers have 762 MB"));
  fake.space.cpu_problems = {{{"N", std::int64_t{128}}}};
  RunWithCpu with(fake);
  const ProblemSummary looked = with.run().problems.front();
  ASSERT_EQ(1u, looked.best()->finals.cpu_checks.size());
  EXPECT_EQ(fake.space.cpu_problems.front(), looked.best()->finals.cpu_checks.front().problem);
  EXPECT_EQ(2u, looked.best()->finals.cpu_checks.front().blocks_total);
}

/// A run over problems of 64 and 128 elements.
struct RunWithTwoProblems : RunWithCpu {
  explicit RunWithTwoProblems(const FakeSpace& space) : RunWithCpu(space) {
    request.problems = {{{"N", std::int64_t{64}}}, {{"N", std::int64_t{128}}}};
  }
};

TEST(CpuCheck, LooksWhileTheNextProblemIsTuned) {
  FakeSpace fake = space_with_shared_memory();
  for (const char* kernel : {"naive", "tiled"}) fake.add(kernel, "fault wait in look");
  const FakeFolder folder;
  RunWithTwoProblems run(fake);
  run.observer.result = [&](const Result& result, bool) {
    if (result.problem == run.request.problems.back()) folder.let_happen();
  };
  const TuningSummary summary = run.run();
  ASSERT_EQ(2u, summary.problems.size());
  for (std::size_t i = 0; i < 2; ++i) {
    const ProblemSummary& problem = summary.problems[i];
    EXPECT_EQ(run.request.problems[i], problem.problem);
    ASSERT_EQ(1u, problem.best()->finals.cpu_checks.size());
    EXPECT_THAT(problem.best()->finals.cpu_checks.front().not_run, IsEmpty());
    EXPECT_EQ(run.request.problems[i], problem.best()->finals.cpu_checks.front().problem);
  }
  EXPECT_TRUE(run.own_log.open.empty());
}

TEST(CpuCheck, IsWrittenDownThoughALaterProblemFails) {
  FakeSpace fake = space_with_shared_memory();
  fake.add("tiled", "fault pause in look");
  fake.add("naive", "fault crash in run when n == 128");
  RunWithTwoProblems run(fake);
  EXPECT_THROW(run.run(), ReferenceError);
  const auto is_chosen = [](const Result& result) { return result.chosen; };
  const auto chosen = std::ranges::find_if(run.own_log.records, is_chosen);
  ASSERT_NE(run.own_log.records.end(), chosen);
  EXPECT_EQ(1u, chosen->finals.cpu_checks.size());
}

TEST(CpuCheck, HasItsPartOfABudgetOfTime) {
  const FakeSpace fake = space_with_shared_memory();
  RunWithCpu run(fake);
  EXPECT_EQ(0, cpu_check_reserve_s(run.request)) << "no limit";
  run.request.options.budget.max_seconds = 8;
  EXPECT_EQ(0, cpu_check_reserve_s(run.request)) << "no source declares shared memory";
  run.request.sources.at("tiled").files.front().text += "__shared__";
  EXPECT_EQ(2, cpu_check_reserve_s(run.request));
  run.request.cpu.reset();
  EXPECT_EQ(0, cpu_check_reserve_s(run.request));
  run.request.options.energy = true;
  EXPECT_NEAR(2.4, ending_reserve_s(run.request), 1e-9);
  run.request.options.budget.max_seconds = 100;
  EXPECT_EQ(9, ending_reserve_s(run.request)) << "of three finalists";
}

}  // namespace
}  // namespace smemtune::test
