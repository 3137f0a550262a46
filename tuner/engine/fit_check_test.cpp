#include "tuner/engine/fit_check.h"

#include "tuner/core/error.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Device small_device() {
  Device device;
  device.name = "Small";
  device.architecture = "sm_75";
  device.compute_major = 7;
  device.compute_minor = 5;
  device.max_threads_per_block = 1024;
  device.max_threads_per_sm = 1024;
  device.max_blocks_per_sm = 16;
  device.registers_per_block = device.registers_per_sm = 65536;
  device.shared_bytes_per_block = 49152;
  device.max_shared_bytes_per_block = device.shared_bytes_per_sm = 65536;
  return device;
}

class FitCheck : public testing::Test {
 protected:
  FitCheck() {
    WorkerCommand workers = fake_workers();
    workers.devices.clear();
    pool_ = std::make_shared<WorkerPool>(workers);
  }

  FitQuestion question(const std::string& configuration) {
    return {.kernel = &fake_.kernel("tiled"),
            .problem = fake_.space.problems.front(),
            .configuration = parse_key(configuration)};
  }

  std::vector<Result> check(const std::vector<FitQuestion>& questions) {
    return check_fit(fake_.space, fake_.sources, questions, small_device(), *pool_);
  }

  FakeSpace fake_;
  std::shared_ptr<WorkerPool> pool_;
};

TEST_F(FitCheck, CompilesForTheDeviceAndJudges) {
  fake_.add("tiled", "registers 40 + ITEMS");
  fake_.add("tiled", "static_shared select(TILE == 16, 49153, 4 * TILE)");
  fake_.add("tiled", "fault error in compile when TILE == 2");
  const std::vector<Result> results =
      check({question("ITEMS=2,TILE=8"), question("ITEMS=2,TILE=16"), question("ITEMS=2,TILE=2"),
             question("ITEMS=3,TILE=9")});
  ASSERT_THAT(results, SizeIs(4));
  EXPECT_EQ(Status::fits, results[0].status);
  EXPECT_EQ("ITEMS=2,TILE=8", key(results[0].configuration));
  EXPECT_EQ(42, results[0].launches.at(0).resources.registers_per_thread);
  EXPECT_EQ(16, results[0].launches.at(0).occupancy.blocks_per_sm);
  EXPECT_EQ(Status::constraints, results[1].status);
  EXPECT_EQ("shared_bytes", results[1].reason);
  EXPECT_EQ(Status::compile, results[2].status);
  EXPECT_EQ(43, results[3].launches.at(0).resources.registers_per_thread) << "off the lists";
}

TEST_F(FitCheck, NamesTheConstraintThatADeviceViolates) {
  fake_.kernel("tiled").constraints = {
      {"TILE * 8192 <= max_shared_bytes_per_block", "/kernels/tiled/constraints/0"}};
  const std::vector<Result> results =
      check({question("ITEMS=1,TILE=8"), question("ITEMS=1,TILE=16")});
  EXPECT_EQ(Status::fits, results.at(0).status);
  EXPECT_EQ(Status::constraints, results.at(1).status);
  EXPECT_EQ("constraint", results[1].reason);
  EXPECT_THAT(results[1].detail, HasSubstr("TILE * 8192 <= max_shared_bytes_per_block"));
}

TEST_F(FitCheck, JudgesByResourcesThatWereFoundElsewhere) {
  const Result fits =
      judge_fit(fake_.space, question("ITEMS=1,TILE=8"),
                {{.registers_per_thread = 128, .static_shared_bytes = 40000}}, small_device());
  EXPECT_EQ(Status::fits, fits.status);
  EXPECT_EQ(1, fits.launches.at(0).occupancy.blocks_per_sm);
  EXPECT_THAT(fits.launches[0].occupancy.limiters(), ElementsAre("shared"));
  const Result exceeds =
      judge_fit(fake_.space, question("ITEMS=1,TILE=8"),
                {{.registers_per_thread = 32, .static_shared_bytes = 70000}}, small_device());
  EXPECT_EQ("shared_bytes", exceeds.reason);
}

}  // namespace
}  // namespace smemtune::test
