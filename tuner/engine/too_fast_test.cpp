#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/one_configuration.h"
#include "tuner/engine/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The fake device's memory moves 1,024 GB/s, its L2 keeps 33.6 MB, and its tensor cores do 614
// TFLOP/s in half precision. Its fastest kernel, tiled with TILE=8 and ITEMS=2, takes 2 us.

namespace smemtune::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kFastest = "TILE=8,ITEMS=2";

/// Returns kernels that declare this many operations; 614e6 operations take at least a microsecond.
FakeSpace with_flops(const std::string& flops) {
  FakeSpace fake;
  for (KernelTemplate& kernel : fake.space.kernels) kernel.metrics["flops"] = {flops, "/test"};
  return fake;
}

/// Gives all kernels a table of 36.8 MB, of which `bytes` are declared to be read.
FakeSpace with_table(const std::string& bytes) {
  FakeSpace fake;
  ArgumentTemplate table;
  table.name = "table";
  table.type = "float";
  table.shape = {{"9200000", "/test"}};
  table.init = {.kind = Init::Kind::zero, .file = {}};
  for (KernelTemplate& kernel : fake.space.kernels) {
    kernel.arguments.push_back(table);
    kernel.metrics["bytes"] = {bytes, "/test"};
  }
  return fake;
}

std::string joined_notes(const FakeRun& run) {
  std::string text;
  for (const std::string& note : run.notes) text += note + "\n";
  return text;
}

// 2e9 operations take 3.3 us: naive, at 9 us, is slow enough; tiled's configurations below 2.9 us
// cheat.
TEST(TooFast, IsAFailureWithBothNumbersAndNeverTheBest) {
  const FakeSpace fake = with_flops("2000000000");
  FakeRun run(fake);
  const ProblemSummary problem = run.run().problems.front();
  const Result& cheat = result_of(problem, "tiled", kFastest);
  EXPECT_EQ(Status::correctness, cheat.status);
  EXPECT_EQ("too_fast", cheat.reason);
  EXPECT_THAT(cheat.detail, HasSubstr("took 2 us; 2.0 GFLOP of `flops` at 614 TFLOP/s take at "
                                      "least 3.26 us"));
  EXPECT_EQ("too_fast", run.log->last("tiled", kFastest)->reason);
  ASSERT_TRUE(problem.best());
  EXPECT_GT(problem.best()->measurement.median_ms, 0.0029);
  EXPECT_EQ(Status::correct, result_of(problem, "naive", "BLOCK=64").status);
  EXPECT_THAT(joined_notes(run), Not(HasSubstr("counts more than must be done")));
}

TEST(TooFast, HoldsForBytesThatTheL2CannotKeep) {
  const FakeSpace fake = with_table("36554432");  // 3 MB more than the L2 keeps: 2.9 us.
  FakeRun run(fake);
  const ProblemSummary problem = run.run().problems.front();
  EXPECT_EQ("too_fast", result_of(problem, "tiled", kFastest).reason);
  EXPECT_THAT(result_of(problem, "tiled", kFastest).detail,
              HasSubstr("3.0 MB of `bytes` beyond the L2 at 1,024 GB/s take at least 2.93 us"));
  EXPECT_EQ(Status::correct, result_of(problem, "tiled", "TILE=1,ITEMS=1").status);
}

// 1e12 operations take 1.6 ms, and the reference took 9 us.
TEST(TooFast, BlamesTheMetricThatTheReferenceItselfContradicts) {
  const FakeSpace fake = with_flops("1000000000000");
  FakeRun run(fake);
  const ProblemSummary problem = run.run().problems.front();
  EXPECT_EQ(Status::correct, result_of(problem, "tiled", kFastest).status);
  ASSERT_TRUE(problem.best());
  EXPECT_EQ("ITEMS=2,TILE=8", key(problem.best()->configuration));
  EXPECT_THAT(joined_notes(run),
              AllOf(HasSubstr("the metric `flops` counts more than must be done: naive, the "
                              "default, took 9 us"),
                    HasSubstr("take at least 1.63 ms")));
}

// Bytes that are read repeatedly may come from caches.
TEST(TooFast, DoesNotHoldWhatIsReadAgainAgainstAnyone) {
  FakeSpace fake;
  for (KernelTemplate& kernel : fake.space.kernels) {
    kernel.metrics["bytes"] = {"1000000000000", "/test"};
  }
  FakeRun run(fake);
  const ProblemSummary problem = run.run().problems.front();
  EXPECT_EQ(Status::correct, result_of(problem, "tiled", kFastest).status);
  EXPECT_THAT(joined_notes(run), Not(HasSubstr("counts more")));
}

// The kernel is slow when it is screened and cheats in the finals.
TEST(TooFast, IsSeenInTheFinals) {
  FakeSpace fake = with_flops("2000000000");
  std::string& script = fake.sources.at("tiled").files.front().text;
  script =
      "kernel tiled(TILE, ITEMS)\ncomputes out[i] = in[i] + 1\ntime_ns TIMES < 2 ? 4000 : 1000\n";
  FakeRun run(fake);
  const ProblemSummary problem = run.run().problems.front();
  ASSERT_TRUE(problem.best());
  EXPECT_NE("tiled", problem.best()->kernel);
  std::size_t failed = 0;
  for (const Result& result : problem.results) failed += result.reason == "too_fast" ? 1 : 0;
  EXPECT_GT(failed, 0U);
}

// A result that an earlier version stored as correct is measured again.
TEST(TooFast, IsNotTakenFromTheLog) {
  FakeSpace fake;
  FakeRun first(fake);
  first.run();
  ASSERT_EQ(Status::correct, first.own_log.last("tiled", kFastest)->status);
  for (KernelTemplate& kernel : fake.space.kernels) {
    kernel.metrics["flops"] = {"2000000000", "/test"};
  }
  FakeRun second(fake);
  second.log = &first.own_log;
  const ProblemSummary problem = second.run().problems.front();
  EXPECT_EQ("too_fast", result_of(problem, "tiled", kFastest).reason);
  EXPECT_EQ("too_fast", first.own_log.last("tiled", kFastest)->reason);
  ASSERT_TRUE(problem.best());
  EXPECT_GT(problem.best()->measurement.median_ms, 0.0029);
}

OneResult run_alone(FakeRun& run, const std::string& configuration) {
  const OneConfiguration wanted = {.kernel = run.fake.space.kernel("tiled"),
                                   .problem = run.request.problems.front(),
                                   .configuration = parse_key(configuration)};
  const auto pool = std::make_shared<WorkerPool>(run.workers);
  return run_one(run.request, wanted, pool->greeting().devices.front(), *pool, run.observer,
                 run.stop);
}

TEST(TooFast, IsSeenWhereOneConfigurationIsRunByItself) {
  const FakeSpace fake = with_flops("2000000000");
  FakeRun run(fake);
  EXPECT_EQ("too_fast", run_alone(run, kFastest).result.reason);
  EXPECT_EQ(Status::correct, run_alone(run, "TILE=1,ITEMS=1").result.status);
}

TEST(TooFast, AsksTheReferenceWhereOneConfigurationContradictsAMetric) {
  const FakeSpace fake = with_flops("1000000000000");
  FakeRun run(fake);
  EXPECT_EQ(Status::correct, run_alone(run, kFastest).result.status);
  EXPECT_THAT(joined_notes(run), HasSubstr("counts more than must be done: naive"));
}

}  // namespace
}  // namespace smemtune::test
