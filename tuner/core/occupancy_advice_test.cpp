#include "tuner/core/occupancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace smemtune {
namespace {

Device compute(int major, int minor, int threads_per_sm, int blocks, std::int64_t registers,
               std::int64_t shared_per_block, std::int64_t shared_per_sm, std::int64_t reserved) {
  Device device;
  device.compute_major = major;
  device.compute_minor = minor;
  device.max_threads_per_block = major == 1 ? 512 : 1024;
  device.max_threads_per_sm = threads_per_sm;
  device.max_blocks_per_sm = blocks;
  device.registers_per_block = device.registers_per_sm = registers;
  device.shared_bytes_per_block = std::min<std::int64_t>(shared_per_block, 49152);
  device.max_shared_bytes_per_block = shared_per_block;
  device.shared_bytes_per_sm = shared_per_sm;
  device.reserved_shared_bytes_per_block = reserved;
  return device;
}

const Device k13 = compute(1, 3, 1024, 8, 16384, 16384, 16384, 0);
const Device k20 = compute(2, 0, 1536, 8, 32768, 49152, 49152, 0);
const Device k60 = compute(6, 0, 2048, 32, 65536, 49152, 65536, 0);
const Device k89 = compute(8, 9, 1536, 24, 65536, 101376, 102400, 1024);
const Device k90 = compute(9, 0, 2048, 32, 65536, 232448, 233472, 1024);

// The exercise of the fifth article: blocks of 16 x 16 threads at 100 per cent.
TEST(Allowance, AnswersTheArticlesExercise) {
  const auto tesla = allowance(k13, 256, 100);
  ASSERT_TRUE(tesla);
  EXPECT_EQ(4, tesla->blocks_per_sm);
  EXPECT_EQ(4096, tesla->shared_bytes);
  EXPECT_EQ(16, tesla->registers_per_thread);
  const auto fermi = allowance(k20, 256, 100);
  ASSERT_TRUE(fermi);
  EXPECT_EQ(6, fermi->blocks_per_sm);
  EXPECT_EQ(48, fermi->warps_per_sm);
  EXPECT_EQ(8192, fermi->shared_bytes);
  EXPECT_EQ(20, fermi->registers_per_thread);
  EXPECT_EQ(21, fermi->divided_registers) << "32768 / 1536, which allocation units do not allow";
}

TEST(Allowance, LeavesTheReserveToTheSystem) {
  const auto hopper = allowance(k90, 256, 100);
  ASSERT_TRUE(hopper);
  EXPECT_EQ(28160, hopper->shared_bytes);
  EXPECT_EQ(29184, hopper->divided_shared_bytes);
  EXPECT_EQ(32, hopper->registers_per_thread);
}

TEST(Allowance, IsNoneWhereTheBlockCannotReachIt) {
  EXPECT_FALSE(allowance(k89, 1024, 100)) << "one block of 32 warps in 48";
  EXPECT_FALSE(allowance(k89, 32, 100)) << "24 blocks of one warp";
  ASSERT_TRUE(allowance(k89, 1024, 66.7)) << "a percentage that was rounded";
  EXPECT_FALSE(allowance(k90, 1025, 1));
  EXPECT_FALSE(allowance(k90, 0, 1));
}

TEST(Allowance, IsTheMostThatKeepsTheTarget) {
  for (const Device& device : {k13, k20, k60, k89, k90}) {
    for (std::int64_t threads = 1; threads <= device.max_threads_per_block; threads += 31) {
      for (const double target : {10.0, 25.0, 50.0, 75.0, 100.0}) {
        const auto most = allowance(device, threads, target);
        if (!most) {
          EXPECT_LT(occupancy(device, threads, 0, 0).percent, target);
          continue;
        }
        const auto percent = [&](int registers, std::int64_t bytes) {
          return occupancy(device, threads, most->registers_per_thread + registers,
                           most->shared_bytes + bytes)
              .percent;
        };
        EXPECT_GE(percent(0, 0), target - 0.05);
        EXPECT_LT(percent(1, 0), target) << threads;
        EXPECT_LT(percent(0, 1), target) << threads;
      }
    }
  }
}

TEST(NextSteps, NameWhatToTakeAway) {
  // 40 registers leave room for 6 blocks; 36 would not leave room for 7, since they are allocated
  // in eights.
  const std::vector<OccupancyStep> steps = next_steps(k90, {256, 40, 8192});
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ((BlockNeeds{256, 32, 8192}), steps[0].needs);
  EXPECT_DOUBLE_EQ(100, steps[0].reached.percent);
}

TEST(NextSteps, TakeBothResourcesWhereBothAreExhausted) {
  const BlockNeeds needs = {256, 32, 8192};
  ASSERT_THAT(occupancy(k13, needs).limiters(), testing::ElementsAre("registers", "shared"));
  EXPECT_EQ((BlockNeeds{256, 20, 5120}), next_steps(k13, needs).at(0).needs);
}

TEST(NextSteps, OfABlockTooLargeForTheDeviceSayWhatFits) {
  const std::vector<OccupancyStep> steps = next_steps(k20, {256, 20, 60000});
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(49152, steps[0].needs.shared_bytes);
  EXPECT_EQ(1, steps[0].reached.blocks_per_sm);
}

TEST(NextSteps, NameTheNearestBlockSizes) {
  // One block of 1024 threads fits into 1536; the next smaller size with a higher occupancy is 768.
  const std::vector<OccupancyStep> steps = next_steps(k89, {1024, 32, 0});
  ASSERT_EQ(1u, steps.size());
  EXPECT_EQ(768, steps[0].needs.threads);
  EXPECT_DOUBLE_EQ(100, steps[0].reached.percent);
}

TEST(NextSteps, AreNoneAtFullOccupancy) { EXPECT_TRUE(next_steps(k90, {256, 32, 0}).empty()); }

TEST(NextSteps, AlwaysLeadToMoreWarps) {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    for (const Device& device : {k13, k20, k60, k89, k90}) {
      const BlockNeeds needs = {
          1 + static_cast<std::int64_t>(random() % unsigned(device.max_threads_per_block)),
          static_cast<int>(random() % 130),
          static_cast<std::int64_t>(random() % unsigned(device.max_shared_bytes_per_block))};
      const Occupancy now = occupancy(device, needs);
      for (const OccupancyStep& step : next_steps(device, needs)) {
        EXPECT_EQ(step.reached, occupancy(device, step.needs));
        EXPECT_GT(step.reached.warps_per_sm, now.warps_per_sm);
        EXPECT_LE(step.needs.registers_per_thread, needs.registers_per_thread);
        EXPECT_LE(step.needs.shared_bytes, needs.shared_bytes);
      }
    }
  }
}

TEST(IdleThreads, AreThoseOfTheLastWarp) {
  EXPECT_EQ(0, idle_threads(k90, 256));
  EXPECT_EQ(31, idle_threads(k90, 33));
}

}  // namespace
}  // namespace smemtune
