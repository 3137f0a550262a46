#include "tuner/core/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// An H100 SXM as the driver reports it.
Device h100_sxm() {
  Device device;
  device.compute_major = 9;
  device.sm_count = 132;
  device.sm_clock_khz = 1'980'000;
  device.memory_bus_bits = 5120;
  device.memory_clock_khz = 2'619'000;
  device.l2_bytes = 52'428'800;
  return device;
}

Argument array_of(ScalarType type, Role role, std::int64_t elements) {
  Argument argument;
  argument.name = "a";
  argument.type = type;
  argument.role = role;
  argument.shape = {elements};
  return argument;
}

KernelInstance taking(const std::vector<Argument>& arguments) {
  KernelInstance instance;
  instance.arguments = arguments;
  return instance;
}

constexpr std::int64_t kMany = 80'000'000;

const Argument kIn = array_of(ScalarType::float32, Role::input, kMany);
const Argument kOut = array_of(ScalarType::float32, Role::output, kMany);

// Expected: 320 MB of outputs less 52.4 MB, at 3,352 GB/s.
TEST(LeastTime, WritesWhatTheL2CannotKeep) {
  const auto times = least_times(taking({kIn, kOut}), {}, h100_sxm(), 0);
  ASSERT_THAT(times, SizeIs(1));
  EXPECT_NEAR(0.0798, times.front().ms, 1e-4);
  EXPECT_EQ("", times.front().metric);
  EXPECT_EQ("took 3.1 us; 267.6 MB of outputs beyond the L2 at 3,352 GB/s take at least 79.8 us",
            times.front().text(0.0031));
  EXPECT_TRUE(times.front().rules_out(0.0031));
  EXPECT_FALSE(times.front().rules_out(0.0798));
}

TEST(LeastTime, AsksForNoWriteThatIsNotCompared) {
  Argument sums = kOut;
  sums.compares_sum = true;
  Argument begun = kOut;
  begun.init.kind = Init::Kind::zero;
  Argument inout = kOut;
  inout.role = Role::inout;
  Argument scratch = kOut;
  scratch.role = Role::scratch;
  for (const Argument& argument : {sums, begun, inout, scratch, kIn}) {
    EXPECT_THAT(least_times(taking({argument}), {}, h100_sxm(), 0), IsEmpty());
  }
}

TEST(LeastTime, CountsOfDeclaredBytesWhatTheBuffersHold) {
  const auto ms_of = [](double bytes, const std::vector<Argument>& arguments) {
    const auto times = least_times(taking(arguments), {{"bytes", bytes}}, h100_sxm(), 0);
    return times.empty() || times.back().metric != "bytes" ? 0 : times.back().ms;
  };
  EXPECT_NEAR(0.1753, ms_of(2 * 4 * kMany, {kIn, kOut}), 1e-4);
  EXPECT_DOUBLE_EQ(ms_of(2 * 4 * kMany, {kIn, kOut}), ms_of(1e12, {kIn, kOut}));
  EXPECT_LT(ms_of(4 * kMany, {kIn, kOut}), ms_of(2 * 4 * kMany, {kIn, kOut}));
  EXPECT_EQ(0, ms_of(50e6, {kIn, kOut}));
  Argument scratch = kOut;
  scratch.role = Role::scratch;
  EXPECT_EQ(0, ms_of(1e12, {scratch}));
}

double least_ms_of_flops(const std::vector<Argument>& arguments, const Device& device,
                         double clock_mhz = 0) {
  for (const LeastTime& one : least_times(taking(arguments), {{"flops", 1e12}}, device, clock_mhz))
    if (one.metric == "flops") return one.ms;
  return 0;
}

double tflops(ScalarType type, const Device& device) {
  return 1e3 / least_ms_of_flops({array_of(type, Role::input, 1)}, device);
}

TEST(LeastTime, KnowsTheFastestUnitOfEachType) {
  const Device h100 = h100_sxm();
  EXPECT_NEAR(1070, tflops(ScalarType::bfloat16, h100), 1);
  EXPECT_NEAR(1070, tflops(ScalarType::float16, h100), 1);
  EXPECT_NEAR(2141, tflops(ScalarType::float8_e4m3, h100), 1);
  EXPECT_NEAR(2141, tflops(ScalarType::int8, h100), 1);
  // A tolerance may allow rounding to types that tensor cores multiply.
  EXPECT_NEAR(1070, tflops(ScalarType::float32, h100), 1);
  EXPECT_NEAR(1070, tflops(ScalarType::float64, h100), 1);
  EXPECT_EQ(0, least_ms_of_flops({array_of(ScalarType::int32, Role::input, 1)}, h100));
}

TEST(LeastTime, TakesIntegersForPackedNarrowNumbers) {
  const Argument packed = array_of(ScalarType::int32, Role::input, 1);
  EXPECT_NEAR(1e3 / 2141, least_ms_of_flops({packed, kOut}, h100_sxm()), 1e-3);
}

TEST(LeastTime, GoesByTheMeasuredClockWhereThatIsHigher) {
  EXPECT_DOUBLE_EQ(least_ms_of_flops({kIn}, h100_sxm()), least_ms_of_flops({kIn}, h100_sxm(), 900));
  EXPECT_NEAR(least_ms_of_flops({kIn}, h100_sxm()) * 1980 / 2200,
              least_ms_of_flops({kIn}, h100_sxm(), 2200), 1e-9);
}

TEST(LeastTime, IsNotKnownOfACpuNorWithoutPeaks) {
  const std::map<std::string, double> metrics = {{"flops", 1e15}, {"bytes", 1e12}};
  Device device = h100_sxm();
  EXPECT_THAT(least_times(taking({kIn, kOut}), metrics, device, 0), SizeIs(3));
  device.kind = DeviceKind::cpu;
  EXPECT_THAT(least_times(taking({kIn, kOut}), metrics, device, 0), IsEmpty());
  device = h100_sxm();
  device.compute_major = 99;
  device.memory_clock_khz = 0;
  EXPECT_THAT(least_times(taking({kIn, kOut}), metrics, device, 0), IsEmpty());
  device = h100_sxm();
  device.l2_bytes = 0;
  EXPECT_THAT(least_times(taking({kIn, kOut}), {}, device, 0), IsEmpty());
}

}  // namespace
}  // namespace smemtune
