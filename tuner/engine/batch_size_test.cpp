#include "tuner/engine/compile_queue.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

constexpr std::size_t kPlenty = 10000;

/// Returns a BatchSize that has seen some modules of a program with these costs.
BatchSize learned(double program_ms, double entry_ms) {
  BatchSize size;
  for (int i = 0; i < 3; ++i) size.add(1, program_ms + entry_ms);
  size.add(4, program_ms + 4 * entry_ms);
  return size;
}

TEST(BatchSize, BeginsWithSinglesAndThenTriesABatch) {
  BatchSize size;
  EXPECT_EQ(size.next(kPlenty, 2), 1u);
  size.add(1, 100);
  const std::size_t trial = size.next(kPlenty, 2);
  EXPECT_GT(trial, 1u);
  EXPECT_LT(trial, 10u);
}

TEST(BatchSize, IsLargeWhereTheProgramItselfIsMostOfTheCost) {
  // 24 ms alone, 3.2 ms each in a batch, as measured for a small kernel with NVRTC.
  const std::size_t batch = learned(20.8, 3.2).next(kPlenty, 16);
  EXPECT_GE(batch, 32u);
  EXPECT_LE(batch, BatchSize::kMaxEntries);
}

TEST(BatchSize, IsOneWhereEntriesAreMostOfTheCost) {
  EXPECT_EQ(learned(20, 400).next(kPlenty, 16), 1u);
}

TEST(BatchSize, KeepsABatchShort) {
  const double entry_ms = 300;
  const std::size_t batch = learned(900, entry_ms).next(kPlenty, 1);
  EXPECT_GT(batch, 1u);
  EXPECT_LE(900 + static_cast<double>(batch) * entry_ms, BatchSize::kMaxBatch_ms + entry_ms);
}

TEST(BatchSize, LeavesNoWorkerWithoutWork) {
  const BatchSize size = learned(20.8, 3.2);
  EXPECT_EQ(size.next(64, 16), 4u);
  EXPECT_EQ(size.next(10, 16), 1u);
  EXPECT_EQ(size.next(1, 1), 1u);
}

TEST(BatchSize, BearsTimesThatMakeNoSense) {
  BatchSize size;
  size.add(1, 100);
  size.add(8, 50);  // Faster than a single one: noise.
  const std::size_t batch = size.next(kPlenty, 1);
  EXPECT_GE(batch, 1u);
  EXPECT_LE(batch, BatchSize::kMaxEntries);
  size.add(1, 0);
  EXPECT_GE(size.next(kPlenty, 1), 1u);
}

}  // namespace
}  // namespace smemtune
