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
