// Several units of one model in a run.

#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace smemtune::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kFirst = "GPU-fake";
constexpr const char* kSecond = "GPU-fake-1";
constexpr std::size_t kSharedConfigurations = 16;

/// No unit finishes its first configuration before two units work on one. Needs a FakeFolder.
FakeSpace shared_space() {
  FakeSpace fake;
  fake.add("tiled", "fault meet2 in load");
  return fake;
}

/// A run whose deadlines are longer than a unit may have to wait for another.
struct UnitsRun : FakeRun {
  UnitsRun(const FakeSpace& fake_space, int units) : FakeRun(fake_space) {
    add_units(workers, units);
    request.options.min_deadline_s = request.options.max_deadline_s = 600;
  }
};

std::string best_key(const TuningSummary& summary) {
  const Result* best = summary.problems.front().best();
  return best ? best->kernel + " " + key(best->configuration) : "none";
}

std::vector<std::string> keys(const TuningSummary& summary) {
  std::vector<std::string> keys;
  for (const Result& result : summary.problems.front().results) {
    keys.push_back(result.kernel + " " + key(result.configuration));
  }
  return keys;
}

TEST(Units, ShareTheSearch) {
  const FakeFolder folder;
  const FakeSpace fake = shared_space();
  UnitsRun run(fake, 2);
  const TuningSummary summary = run.run();
  EXPECT_EQ(summary.evaluated, kSharedConfigurations);
  ASSERT_THAT(summary.evaluated_on, SizeIs(2));
  EXPECT_EQ(summary.evaluated_on.at(kFirst) + summary.evaluated_on.at(kSecond),
            kSharedConfigurations);
  EXPECT_THAT(run.log->attempts, SizeIs(kSharedConfigurations)) << "each by one unit";
  EXPECT_THAT(run.log->open, IsEmpty());
}

TEST(Workers, StartWhenSomethingIsToBeCompiled) {
  const FakeSpace fake;
  FakeRun first(fake);
  first.run();
  FakeRun run(fake);
  run.workers.known_devices = {first.pool->greeting().devices.front()};
  const DeviceGreeting& greeting = first.pool->greeting();
  run.workers.known_compiler = {.version = greeting.compiler, .sha256 = greeting.compiler_sha256};
  run.pool = std::make_shared<WorkerPool>(run.workers);
  EXPECT_THAT(run.pool->process_ids(), IsEmpty());
  EXPECT_EQ(run.pool->greeting().compiler, greeting.compiler);
  EXPECT_EQ(run.run().problems.front().results.size(), kConfigurations);
  EXPECT_THAT(run.pool->process_ids(), SizeIs(3));
}

TEST(Workers, OfAnotherCompilerThanIsKnownEndTheRun) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.workers.known_devices = {h200_limits()};
  run.workers.known_compiler = {.version = "another", .sha256 = "1"};
  EXPECT_THROW(run.run(), UnavailableError);
}

TEST(Units, AreToldWithEachResult) {
  const FakeFolder folder;
  const FakeSpace fake = shared_space();
  UnitsRun run(fake, 3);
  const TuningSummary summary = run.run();
  std::map<std::string, std::uint64_t> screened;
  for (const Result& result : run.log->records) {
    if (result.stage == Stage::screen) ++screened[result.unit];
  }
  EXPECT_EQ(screened, summary.evaluated_on);
}

TEST(Units, ThatDifferFindTheWinnerThatOneFinds) {
  for (const int slower : {0, 1}) {
    FakeSpace fake;
    fake.sources["tiled"].files.front().text +=
        "time_ns (2000 + 100 * abs(TILE - 8) + 20 * abs(ITEMS - 2)) * select(UNIT == " +
        std::to_string(slower) + ", 104, 100) / 100\n";
    UnitsRun run(fake, 2);
    const TuningSummary summary = run.run();
    EXPECT_EQ(best_key(summary), "tiled ITEMS=2,TILE=8");
    for (const Result& result : summary.problems.front().results) {
      if (result.stage != Stage::final) continue;
      EXPECT_EQ(result.unit, kFirst);
    }
  }
}

TEST(Units, ChangeNothingOfWhatIsAskedAndTold) {
  const FakeSpace fake;
  std::vector<std::vector<std::string>> told;
  for (const int units : {1, 3}) {
    UnitsRun run(fake, units);
    run.request.options.window = 5;
    run.request.options.seed = 7;
    told.push_back(keys(run.run()));
  }
  EXPECT_EQ(told[0], told[1]);
}

TEST(Units, ResumeFromTheResultsOfAnyOther) {
  const FakeSpace fake;
  UnitsRun both(fake, 2);
  both.run();
  FakeRun one(fake);
  one.log = both.log;
  EXPECT_EQ(one.run().evaluated, 0u);
}

class UnhealthyUnit : public testing::TestWithParam<int> {};

// After its first crash the unit gets the reference kernel wrong for good.
TEST_P(UnhealthyUnit, IsLeftOutAndTheOthersGoOn) {
  const FakeFolder folder;
  const std::string unit = std::to_string(GetParam());
  FakeSpace fake = shared_space();
  fake.space.problems.push_back({{"N", std::int64_t{2000}}});
  fake.add("tiled", "fault crash_once in run when UNIT == " + unit);
  fake.add("naive", "fault error in run when HAPPENED && UNIT == " + unit);
  UnitsRun run(fake, 2);
  const TuningSummary summary = run.run();
  ASSERT_THAT(summary.problems, SizeIs(2));
  const std::string healthy = GetParam() == 0 ? kSecond : kFirst;
  std::size_t crashes = 0;
  for (const ProblemSummary& problem : summary.problems) {
    ASSERT_THAT(problem.results, SizeIs(kSharedConfigurations));
    EXPECT_EQ(problem.best()->unit, healthy);
    for (const Result& result : problem.results) crashes += result.timed() ? 0 : 1;
  }
  EXPECT_EQ(crashes, 1u) << "the variant that took the unit along is not tried on another";
  EXPECT_THAT(run.notes, Contains(AllOf(HasSubstr("going on without"), HasSubstr("unhealthy"))));
  EXPECT_THAT(run.log->open, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(EachOfTwo, UnhealthyUnit, testing::Values(0, 1));

TEST(Units, ThatDoNotComeBackAreLeftOut) {
  const FakeFolder folder;
  FakeSpace fake = shared_space();
  fake.add("tiled", "fault crash_once in run when UNIT == 1");
  UnitsRun run(fake, 2);
  run.workers.devices.back() = {"/bin/sh", "-c",
                                "mkdir " + (folder.path() / "started").string() +
                                    " || exit 9; exec " + executable() + " " + kDeviceWord + " 1"};
  const TuningSummary summary = run.run();
  EXPECT_THAT(summary.problems.front().results, SizeIs(kSharedConfigurations));
  EXPECT_EQ(best_key(summary).substr(0, 5), "tiled");
  EXPECT_THAT(run.notes, Contains(AllOf(HasSubstr("going on without"), HasSubstr("status 9"))));
}

TEST(Units, EndTheRunWhenTheLastIsGone) {
  const FakeFolder folder;
  FakeSpace fake = shared_space();
  fake.add("tiled", "fault crash_once in run when HAPPENED == 0");
  fake.add("tiled", "fault crash in run when HAPPENED");
  fake.add("naive", "fault error in run when HAPPENED");
  UnitsRun run(fake, 2);
  EXPECT_THROW(run.run(), UnavailableError);
}

TEST(Units, ThatCannotStartAreNotLeftOutSilently) {
  WorkerCommand command = fake_workers(1);
  add_units(command, 2);
  command.devices.back().back() = "broken";
  EXPECT_THROW(std::make_shared<WorkerPool>(command), UnavailableError);
}

TEST(Units, OfAReferenceThatIsWrongAreAllInnocent) {
  FakeSpace fake;
  fake.add("naive", "fault error in run");
  UnitsRun run(fake, 2);
  EXPECT_THROW(run.run(), ReferenceError);
}

}  // namespace
}  // namespace smemtune::test
