#include "tuner/core/roofline.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

Device h200() {
  Device device;
  device.compute_major = 9;
  device.sm_count = 132;
  device.sm_clock_khz = 1980000;
  device.memory_bus_bits = 6144;
  device.memory_clock_khz = 3201000;
  return device;
}

// 132 * 128 * 2 * 1.98 GHz, and 768 bytes * 2 * 3.201 GHz.
TEST(Roofline, IsWhatClocksAndWidthsGive) {
  EXPECT_DOUBLE_EQ(66.90816e12, roofline(h200()).flops_per_s);
  EXPECT_DOUBLE_EQ(4.916736e12, roofline(h200()).bytes_per_s);
}

// 4.916736e12 bytes per second in 1.98e9 cycles.
TEST(Roofline, IsKnownToExpressionsPerCycle) {
  EXPECT_EQ(Value(std::int64_t{2483}), device_names(h200()).at("memory_bytes_per_cycle"));
  Device device = h200();
  device.sm_clock_khz = 0;
  EXPECT_EQ(Value(std::int64_t{0}), device_names(device).at("memory_bytes_per_cycle"));
}

TEST(Roofline, LetsTheSlowerOfBothDecide) {
  const Roofline limits = {.flops_per_s = 1e12, .bytes_per_s = 1e9};
  EXPECT_DOUBLE_EQ(2, limits.least_ms(2e9, 1e3));
  EXPECT_DOUBLE_EQ(3, limits.least_ms(2e9, 3e6));
}

TEST(Roofline, SaysNothingOfWhatIsNotKnown) {
  Device device = h200();
  device.memory_clock_khz = 0;
  EXPECT_EQ(0, roofline(device).bytes_per_s);
  EXPECT_EQ(0, roofline(device).least_ms(0, 1e9));
  device.compute_major = 99;
  EXPECT_EQ(0, roofline(device).flops_per_s);
  device = h200();
  device.kind = DeviceKind::cpu;
  EXPECT_EQ(Roofline{}, roofline(device));
}

}  // namespace
}  // namespace smemtune
