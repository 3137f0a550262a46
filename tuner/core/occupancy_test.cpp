#include "tuner/core/occupancy.h"

#include "tuner/core/device.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

Device compute_1_3() {
  Device device;
  device.compute_major = 1;
  device.compute_minor = 3;
  device.max_threads_per_block = 512;
  device.max_threads_per_sm = 1024;
  device.max_blocks_per_sm = 8;
  device.registers_per_block = device.registers_per_sm = 16384;
  device.shared_bytes_per_block = device.max_shared_bytes_per_block = 16384;
  device.shared_bytes_per_sm = 16384;
  return device;
}

Device compute_2_0() {
  Device device;
  device.compute_major = 2;
  device.compute_minor = 0;
  device.max_threads_per_block = 1024;
  device.max_threads_per_sm = 1536;
  device.max_blocks_per_sm = 8;
  device.registers_per_block = device.registers_per_sm = 32768;
  device.shared_bytes_per_block = device.max_shared_bytes_per_block = 49152;
  device.shared_bytes_per_sm = 49152;
  return device;
}

TEST(Occupancy, OfCompute13IsBoundBySharedMemory) {
  EXPECT_EQ(4, occupancy(compute_1_3(), 256, 10, 4096).blocks_per_sm);
  EXPECT_DOUBLE_EQ(100, occupancy(compute_1_3(), 256, 10, 4096).percent);
  const Occupancy one = occupancy(compute_1_3(), 256, 10, 16384);
  EXPECT_EQ(1, one.blocks_per_sm);
  EXPECT_DOUBLE_EQ(25, one.percent);
  EXPECT_EQ(std::vector<std::string>{"shared"}, one.limiters());
  // Units of 512 bytes: one byte more than a third takes the room of two.
  EXPECT_EQ(3, occupancy(compute_1_3(), 128, 10, 5120).blocks_by_shared);
  EXPECT_EQ(2, occupancy(compute_1_3(), 128, 10, 5633).blocks_by_shared);
}

TEST(Occupancy, OfCompute13AllocatesRegistersByBlock) {
  EXPECT_EQ(2, occupancy(compute_1_3(), 256, 32, 0).blocks_per_sm);
  EXPECT_EQ(4, occupancy(compute_1_3(), 256, 16, 0).blocks_per_sm);
  EXPECT_EQ(3, occupancy(compute_1_3(), 256, 17, 0).blocks_per_sm);
  // Three warps count as four: 4 * 32 * 10 = 1280, in units of 512.
  EXPECT_EQ(1536, allocated_registers(compute_1_3(), 96, 10));
}

TEST(Occupancy, OfCompute20AllocatesRegistersByWarp) {
  EXPECT_EQ(6, occupancy(compute_2_0(), 256, 20, 8192).blocks_per_sm);
  EXPECT_DOUBLE_EQ(100, occupancy(compute_2_0(), 256, 20, 8192).percent);
  // 21 * 32 = 672 registers of a warp take 704.
  const Occupancy more = occupancy(compute_2_0(), 256, 21, 8192);
  EXPECT_EQ(5, more.blocks_per_sm);
  EXPECT_EQ(std::vector<std::string>{"registers"}, more.limiters());
  EXPECT_EQ(0, occupancy(compute_2_0(), 32, 64, 0).blocks_per_sm) << "63 registers are the most";
}

TEST(Occupancy, OfCompute90CountsTheReservedKilobyte) {
  EXPECT_EQ(1, occupancy(h200_limits(), 128, 32, 232448).blocks_per_sm);
  EXPECT_EQ(0, occupancy(h200_limits(), 128, 32, 232449).blocks_per_sm);
  // 4 * (57344 + 1024) = 233472.
  EXPECT_EQ(4, occupancy(h200_limits(), 128, 32, 57344).blocks_per_sm);
  EXPECT_EQ(3, occupancy(h200_limits(), 128, 32, 57345).blocks_per_sm);
}

TEST(Occupancy, CountsOnlyTheSharedMemoryThatAFunctionPrefers) {
  // An H200's cuOccupancyMaxActiveBlocksPerMultiprocessor returned these.
  EXPECT_EQ(3, occupancy(h200_limits(), 128, 80, 32832, 50).blocks_per_sm);
  EXPECT_EQ(2, occupancy(h200_limits(), 192, 32, 23128, 25).blocks_per_sm);
  EXPECT_EQ(4, occupancy(h200_limits(), 256, 32, 30832, 50).blocks_per_sm);
  EXPECT_EQ(4, occupancy(h200_limits(), 384, 32, 27808, 50).blocks_per_sm);
  EXPECT_EQ(21, occupancy(h200_limits(), 64, 32, 5160, 50).blocks_per_sm);
  EXPECT_EQ(13, occupancy(h200_limits(), 64, 40, 9256, 50).blocks_per_sm);
  EXPECT_EQ(1, occupancy(h200_limits(), 128, 32, 57344, 0).blocks_per_sm) << "one always fits";
  EXPECT_EQ(4, occupancy(h200_limits(), 128, 32, 57344, -1).blocks_per_sm);
  EXPECT_EQ(8, occupancy(h200_limits(), 64, 16, 0, 0).blocks_per_sm);
  EXPECT_EQ(7, occupancy(h200_limits(), 64, 16, 16, 3).blocks_per_sm);
  EXPECT_EQ(14, occupancy(h200_limits(), 64, 16, 16, 5).blocks_per_sm);
  EXPECT_EQ(10, occupancy(h200_limits(), 64, 16, 5160, 28).blocks_per_sm);
  EXPECT_EQ(16, occupancy(h200_limits(), 64, 16, 5160, 29).blocks_per_sm);
  EXPECT_EQ(26, occupancy(h200_limits(), 64, 16, 5160, 71).blocks_per_sm);
  EXPECT_EQ(28, occupancy(h200_limits(), 64, 16, 7168, 86).blocks_per_sm);
}

TEST(Occupancy, RoundsAPreferenceUpToWhatTheGpuCanHave) {
  Device device = h200_limits();
  EXPECT_EQ(64 * 1024, shared_carveout_bytes(device, 25));
  EXPECT_EQ(132 * 1024, shared_carveout_bytes(device, 50));
  EXPECT_EQ(228 * 1024, shared_carveout_bytes(device, 100));
  device.compute_major = 7;
  device.compute_minor = 5;
  device.shared_bytes_per_sm = 64 * 1024;
  EXPECT_EQ(32 * 1024, shared_carveout_bytes(device, 10));
  EXPECT_EQ(64 * 1024, shared_carveout_bytes(device, 51));
  device.compute_minor = 0;
  device.shared_bytes_per_sm = 96 * 1024;
  EXPECT_EQ(96 * 1024, shared_carveout_bytes(device, 100));
  device.compute_major = 6;
  EXPECT_EQ(96 * 1024, shared_carveout_bytes(device, 10)) << "shared memory is not taken from it";
}

TEST(Occupancy, NamesEveryResourceThatIsExhausted) {
  const Occupancy full = occupancy(h200_limits(), 64, 32, 0);
  EXPECT_EQ(32, full.blocks_per_sm);
  EXPECT_EQ((std::vector<std::string>{"threads", "registers", "blocks"}), full.limiters());
  EXPECT_EQ(64, full.warps_per_sm);
}

TEST(Occupancy, CountsWholeWarps) {
  const Occupancy odd = occupancy(h200_limits(), 33, 16, 0);
  EXPECT_EQ(32, odd.blocks_per_sm);
  EXPECT_EQ(64, odd.warps_per_sm);
}

TEST(Occupancy, IsZeroForBlocksThatNoDeviceLaunches) {
  EXPECT_EQ(0, occupancy(h200_limits(), 1025, 16, 0).blocks_per_sm);
  EXPECT_EQ(0, occupancy(h200_limits(), 0, 16, 0).blocks_per_sm);
  EXPECT_EQ(0, occupancy(h200_limits(), INT64_MAX, 16, 0).blocks_per_sm);
  EXPECT_EQ(0, occupancy(h200_limits(), 128, 16, INT64_MAX).blocks_per_sm);
  EXPECT_EQ(0, occupancy(h200_limits(), 1024, 65, 0).blocks_per_sm);
}

TEST(AllocatedRegisters, OfCompute90ComeInFourWarpsOf256) {
  EXPECT_EQ(65536, allocated_registers(h200_limits(), 1024, 64));
  EXPECT_EQ(73728, allocated_registers(h200_limits(), 1024, 65));
  EXPECT_EQ(4 * 1024, allocated_registers(h200_limits(), 32, 32));
}

}  // namespace
}  // namespace smemtune
