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

// Expected: 132 * 128 * 2 * 1.98 GHz, and 768 bytes * 2 * 3.201 GHz.
TEST(Roofline, IsWhatClocksAndWidthsGive) {
  EXPECT_DOUBLE_EQ(66.90816e12, roofline(h200()).flops_per_s);
  EXPECT_DOUBLE_EQ(4.916736e12, roofline(h200()).bytes_per_s);
}

// Expected: 4.916736e12 bytes per second in 1.98e9 cycles.
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

/// Returns a GPU of an architecture with this number of multiprocessors and this clock.
Device gpu_of(int major, int minor, int multiprocessors, int mhz) {
  Device device;
  device.compute_major = major;
  device.compute_minor = minor;
  device.sm_count = multiprocessors;
  device.sm_clock_khz = 1000 * mhz;
  return device;
}

struct Published {
  Device device;
  ScalarType type;
  std::vector<double> tflops;  ///< Peaks on dense matrices, ascending.
};

// Sources: data sheets of V100, T4, A100, A10, L40S, H100 SXM (whose tensor cores are given at
// 1,830 MHz, its cores at 1,980 MHz), B200, RTX 5090.
TEST(Roofline, HasThePublishedPeaks) {
  const std::vector<Published> all = {
      {gpu_of(7, 0, 80, 1530), ScalarType::float16, {125}},
      {gpu_of(7, 5, 40, 1590), ScalarType::float16, {65}},
      {gpu_of(7, 5, 40, 1590), ScalarType::int8, {130, 260}},
      {gpu_of(8, 0, 108, 1410), ScalarType::float64, {19.5, 312}},
      {gpu_of(8, 0, 108, 1410), ScalarType::float32, {19.5, 156, 312}},
      {gpu_of(8, 0, 108, 1410), ScalarType::int8, {624, 1248}},
      {gpu_of(8, 6, 72, 1695), ScalarType::float32, {31.2, 62.5, 125}},
      {gpu_of(8, 9, 142, 2520), ScalarType::float32, {91.6, 183, 366}},
      {gpu_of(8, 9, 142, 2520), ScalarType::float8_e4m3, {733}},
      {gpu_of(9, 0, 132, 1830), ScalarType::bfloat16, {989}},
      {gpu_of(9, 0, 132, 1830), ScalarType::float8_e4m3, {1979}},
      {gpu_of(9, 0, 132, 1980), ScalarType::float32, {66.9, 535, 1070}},
      {gpu_of(9, 0, 132, 1980), ScalarType::float64, {66.9, 1070}},
      {gpu_of(10, 0, 148, 1850), ScalarType::bfloat16, {2250}},
      {gpu_of(10, 0, 148, 1850), ScalarType::uint8, {4500, 9000}},
      {gpu_of(12, 0, 170, 2407), ScalarType::float16, {419}},
  };
  for (const Published& one : all) {
    const std::vector<double> peaks = operations_per_s(one.device, one.type);
    ASSERT_EQ(one.tflops.size(), peaks.size()) << cuda_name(one.type);
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      EXPECT_NEAR(one.tflops[i], 1e-12 * peaks[i], 0.01 * one.tflops[i])
          << one.device.compute_major << "." << one.device.compute_minor << " "
          << cuda_name(one.type);
    }
  }
}

TEST(Roofline, HasTheBandwidthOfTheDataSheet) {
  Device h100 = gpu_of(9, 0, 132, 1980);
  h100.memory_bus_bits = 5120;
  h100.memory_clock_khz = 2'619'000;
  EXPECT_NEAR(3.35e12, roofline(h100).bytes_per_s, 0.005e12);
}

// Narrower numbers are never slower, and every architecture of the table has all its units.
TEST(Roofline, HasRatesThatRiseAsNumbersGetNarrower) {
  for (int major = 1; major < 20; ++major) {
    for (int minor = 0; minor < 10; ++minor) {
      const OperationRates rates = operation_rates(major, minor);
      EXPECT_LE(rates.float64, rates.float32) << major << minor;
      EXPECT_LE(rates.float32, rates.bits16) << major << minor;
      EXPECT_LE(rates.tf32, rates.bits16) << major << minor;
      EXPECT_LE(rates.bits16, rates.bits8) << major << minor;
      EXPECT_LE(rates.bits8, rates.bits4) << major << minor;
      EXPECT_EQ(2.0 * single_precision_cores(major, minor), rates.float32) << major << minor;
    }
  }
}

TEST(Roofline, TakesTheSlowestUnitThatIsFastEnough) {
  const Device h100 = gpu_of(9, 0, 132, 1980);
  EXPECT_NEAR(66.9e12, peak_for(h100, ScalarType::float32, 50e9, 1), 1e11);
  EXPECT_NEAR(535e12, peak_for(h100, ScalarType::float32, 100e9, 1), 1e12);
  EXPECT_NEAR(1070e12, peak_for(h100, ScalarType::float32, 600e9, 1), 1e12);
  EXPECT_NEAR(1070e12, peak_for(h100, ScalarType::float32, 5000e9, 1), 1e12);
  EXPECT_EQ(0, peak_for(h100, ScalarType::int32, 1e9, 1));
  EXPECT_EQ(0, peak_for(gpu_of(99, 0, 132, 1980), ScalarType::float32, 1e9, 1));
}

// Orin's driver reports 1,300 MHz of memory that runs at 3,200.
TEST(Roofline, KnowsNoBandwidthOfMemoryThatIsTheHosts) {
  Device orin = gpu_of(8, 7, 16, 1300);
  orin.memory_bus_bits = 256;
  orin.memory_clock_khz = 1'300'000;
  EXPECT_EQ(0, roofline(orin).bytes_per_s);
  EXPECT_GT(roofline(orin).flops_per_s, 0);
}

}  // namespace
}  // namespace smemtune
