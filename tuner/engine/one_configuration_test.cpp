#include "tuner/engine/one_configuration.h"

#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace smemtune::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Configuration tiled(std::int64_t tile, std::int64_t items) {
  return {{"ITEMS", items}, {"TILE", tile}};
}

OneResult run(const FakeSpace& fake, const std::string& kernel, const Configuration& configuration,
              bool launch = true, bool facts = false) {
  FakeRun fake_run(fake);
  if (!launch) fake_run.workers.devices.clear();
  const auto whole = std::make_shared<WorkerPool>(fake_workers());
  const auto pool = launch ? whole : std::make_shared<WorkerPool>(fake_run.workers);
  return run_one(fake_run.request,
                 {.kernel = fake.space.kernel(kernel),
                  .problem = fake.space.problems.front(),
                  .configuration = configuration,
                  .samples = 7,
                  .launch = launch,
                  .counters = facts,
                  .energy = facts},
                 whole->greeting().devices.front(), *pool, fake_run.observer, fake_run.stop);
}

TEST(OneConfiguration, IsVerifiedAndTimedAsARunWould) {
  const OneResult one = run(FakeSpace(), "tiled", tiled(16, 4));
  EXPECT_EQ(one.result.status, Status::correct) << one.result.detail;
  EXPECT_EQ(one.result.stage, Stage::screen);
  EXPECT_THAT(one.result.measurement.samples_ms, SizeIs(7));
  EXPECT_NEAR(one.result.measurement.median_ms, 0.0029, 1e-9);
  EXPECT_THAT(one.result.launches, SizeIs(1));
  ASSERT_NE(one.module, nullptr);
  ASSERT_TRUE(one.request);
  EXPECT_THAT(one.request->name_expressions, ElementsAre("tiled<16, 4>"));
}

TEST(OneConfiguration, TellsItsCountersAndItsEnergy) {
  FakeSpace fake;
  const OneResult one = run(fake, "tiled", tiled(16, 4), true, true);
  EXPECT_TRUE(has_facts(one.result, kCounterFacts));
  EXPECT_TRUE(has_facts(one.result, kEnergyFacts));
  EXPECT_EQ(one.no_counters + one.no_energy, "");
  fake.add("tiled", "fault idle in energy");
  const OneResult idle = run(fake, "tiled", tiled(16, 4), true, true);
  EXPECT_TRUE(has_facts(idle.result, kCounterFacts));
  EXPECT_FALSE(has_facts(idle.result, kEnergyFacts));
  EXPECT_EQ(idle.no_energy, "tiled does less when it is repeated on the same data");
}

/// Returns a space whose tiled has two launches, the second of which is repeated.
FakeSpace with_launches() {
  FakeSpace fake;
  KernelTemplate& tiled = fake.kernel("tiled");
  tiled.launches.push_back(tiled.launches.front());
  tiled.repeats.push_back(
      {.first = 1, .end = 2, .counter = {}, .times = {"2", "/test"}, .swaps = {}});
  return fake;
}

// The fake device's turns take 1, 2 and 3 parts of the whole.
TEST(OneConfiguration, TellsWhatEachOfSeveralLaunchesTakes) {
  const OneResult one = run(with_launches(), "tiled", tiled(16, 4));
  ASSERT_THAT(one.result.launches, SizeIs(2)) << one.result.detail;
  EXPECT_NEAR(one.result.launches[0].time_ms, 0.0029 / 6, 1e-9);
  EXPECT_NEAR(one.result.launches[1].time_ms, 0.0029 * 5 / 6, 1e-9);
  EXPECT_EQ(run(FakeSpace(), "tiled", tiled(16, 4)).result.launches.front().time_ms, 0)
      << "a single launch takes what the kernel takes";
}

TEST(TuningLoop, TellsWhatTheLaunchesOfFinalistsTake) {
  const FakeSpace fake = with_launches();
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  ASSERT_TRUE(summary.problems.front().best());
  const Result& best = *summary.problems.front().best();
  ASSERT_EQ(best.kernel, "tiled");
  ASSERT_THAT(best.launches, SizeIs(2));
  EXPECT_GT(best.launches[0].time_ms, 0);
  EXPECT_NEAR(best.launches[1].time_ms, 5 * best.launches[0].time_ms, 1e-9);
}

TEST(OneConfiguration, MayHaveValuesThatAreNotSearched) {
  const OneResult one = run(FakeSpace(), "tiled", tiled(12, 3));
  EXPECT_TRUE(one.result.timed()) << one.result.detail;
  EXPECT_NEAR(one.result.measurement.median_ms, 0.00245, 1e-9);
}

TEST(OneConfiguration, ThatIsWrongIsAResult) {
  FakeSpace fake;
  fake.add("tiled", "fault mismatch in run");
  const OneResult one = run(fake, "tiled", tiled(8, 2));
  EXPECT_EQ(one.result.status, Status::correctness) << one.result.detail;
  EXPECT_NE(one.module, nullptr) << "what was compiled can be kept";
}

TEST(OneConfiguration, ThatItsConstraintsExcludeIsNotCompiled) {
  FakeSpace fake;
  fake.kernel("tiled").constraints.push_back({.text = "TILE < 16", .where = "/test"});
  const OneResult one = run(fake, "tiled", tiled(16, 1));
  EXPECT_EQ(one.result.status, Status::constraints);
  EXPECT_THAT(one.result.detail, HasSubstr("TILE=16"));
  EXPECT_EQ(one.module, nullptr);
}

TEST(OneConfiguration, ThatTheDeviceCannotRunSaysWhatItLacks) {
  FakeSpace fake;
  fake.kernel("tiled").constraints.push_back({.text = "TILE < 16", .where = "/test"});
  fake.kernel("tiled").required_features = {"wgmma"};
  FakeRun fake_run(fake);
  const auto pool = std::make_shared<WorkerPool>(fake_workers());
  Device device = pool->greeting().devices.front();
  device.compute_major = 8;
  const OneResult one = run_one(fake_run.request,
                                {.kernel = fake.space.kernel("tiled"),
                                 .problem = fake.space.problems.front(),
                                 .configuration = tiled(16, 1),
                                 .samples = 7,
                                 .launch = true},
                                device, *pool, fake_run.observer, fake_run.stop);
  EXPECT_EQ(one.result.status, Status::constraints);
  EXPECT_THAT(one.result.detail, HasSubstr("requires warpgroup products (wgmma)"));
}

TEST(OneConfiguration, CanBeCompiledWithoutADevice) {
  const OneResult one = run(FakeSpace(), "tiled", tiled(8, 2), /*launch=*/false);
  EXPECT_EQ(one.result.status, Status::fits) << one.result.detail;
  EXPECT_FALSE(one.result.timed());
  EXPECT_NE(one.module, nullptr);
}

TEST(TuningLoop, MeasuresOnlyWhatTheRequestNames) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.only = {{"tiled", tiled(16, 4)},
                      {"tiled", tiled(12, 3)},  // Not among the space's configurations.
                      {"naive", {{"BLOCK", std::int64_t{64}}}},
                      {"tiled", tiled(1, 1)}};
  const TuningSummary summary = run.run();
  std::vector<std::string> measured;
  for (const Result& result : summary.problems.front().results) {
    measured.push_back(result.kernel + " " + key(result.configuration));
  }
  EXPECT_THAT(measured,
              ElementsAre("tiled ITEMS=4,TILE=16", "naive BLOCK=64", "tiled ITEMS=1,TILE=1"));
  ASSERT_TRUE(summary.problems.front().best());
  EXPECT_EQ(key(summary.problems.front().best()->configuration), "ITEMS=1,TILE=1");
}

}  // namespace
}  // namespace smemtune::test
