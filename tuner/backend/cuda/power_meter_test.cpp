#include "tuner/backend/cuda/power_meter.h"

#include "tuner/core/error.h"
#include "tuner/core/objective.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace smemtune::cuda {
namespace {

/// Readings every 10 ms, of a counter that moves every 100 ms by 30 J, while 7 launches end every
/// 50 ms.
std::vector<PowerReading> steady_readings() {
  std::vector<PowerReading> readings;
  for (std::size_t i = 0; i <= 237; ++i) {
    const std::size_t steps = (i + 3) / 10;
    readings.push_back({.at_s = 5 + 0.01 * static_cast<double>(i),
                        .launches = 7 * (i / 5),
                        .joules = 1e6 + 30 * static_cast<double>(steps)});
  }
  return readings;
}

TEST(EnergyUse, IsTakenBetweenTheStepsOfTheCounter) {
  const EnergyUse use = energy_use(steady_readings());
  EXPECT_NEAR(use.mean_watts, 300, 1e-6);
  EXPECT_NEAR(use.seconds, 2.3, 1e-9) << "from 0.07 s to 2.37 s";
  EXPECT_EQ(use.launches, 7u * 46);
  EXPECT_NEAR(use.launches_s, 2.3, 1e-9);
  EXPECT_NEAR(use.joules_per_launch(), 300 * 0.05 / 7, 1e-6);
  EXPECT_EQ(use.power_samples, 0u);
}

TEST(EnergyUse, IsRefusedOfACounterThatGoesBackStandsStillOrEnds) {
  std::vector<PowerReading> back = steady_readings();
  back[100].joules = 3;
  EXPECT_THROW(energy_use(back), UnavailableError);
  std::vector<PowerReading> gone = steady_readings();
  gone[100].joules.reset();
  EXPECT_THROW(energy_use(gone), UnavailableError);
  std::vector<PowerReading> still = steady_readings();
  for (PowerReading& reading : still) reading.joules = 1e6;
  EXPECT_THROW(energy_use(still), UnavailableError);
  still.back().joules = 2e6;
  EXPECT_THROW(energy_use(still), UnavailableError) << "one step alone bounds no time";
}

TEST(EnergyUse, IsTheIntegralOfThePowerWithoutACounter) {
  const std::vector<PowerReading> readings = {{.at_s = 1, .watts = 100},
                                              {.at_s = 2, .launches = 4, .watts = 200},
                                              {.at_s = 2.5, .launches = 4},  // It was refused.
                                              {.at_s = 4, .launches = 8, .watts = 300}};
  const EnergyUse use = energy_use(readings);
  EXPECT_EQ(use.power_samples, 3u);
  EXPECT_DOUBLE_EQ(use.seconds, 3);
  EXPECT_DOUBLE_EQ(use.mean_watts, (150 + 500) / 3.0);
  EXPECT_EQ(use.launches, 4u);
  EXPECT_DOUBLE_EQ(use.launches_s, 2);
  EXPECT_THROW(energy_use({}), UnavailableError);
  EXPECT_THROW(energy_use(std::vector<PowerReading>(3)), UnavailableError);
}

TEST(EnergyFacts, NameWhatLimitsTheClock) {
  std::vector<PowerReading> readings = steady_readings();
  for (std::size_t i = 0; i < readings.size(); ++i) {
    readings[i].sm_clock_mhz = i % 2 == 0 ? 1400 : 0;
    readings[i].clock_reasons = i < readings.size() / 2 ? 0x4 : 0x1;
  }
  const Facts facts = energy_facts(readings);
  EXPECT_NEAR(facts.at("energy.power_limited_percent"), 50, 1e-9);
  EXPECT_EQ(facts.at("energy.heat_limited_percent"), 0);
  EXPECT_EQ(facts.at("energy.sm_clock_mhz"), 1400);
  EXPECT_NEAR(facts.at("energy.joules_per_launch"), 300 * 0.05 / 7, 1e-6);
  EXPECT_NEAR(facts.at("energy.launch_ms"), 50.0 / 7, 1e-6);
  EXPECT_FALSE(facts.contains("energy.power_samples"));
  for (const auto& [name, value] : facts) EXPECT_NO_THROW(Objective{name}) << "can be ranked by";
  for (PowerReading& reading : readings) reading.launches = 0;
  EXPECT_THROW(energy_facts(readings), UnavailableError);
}

TEST(PowerMeter, ReadsTheCounterAndNoPowerWhereThereIsOne) {
  const PowerMeter meter("GPU-idle", SMEMTUNE_FAKE_NVML);
  std::size_t ended = 0;
  const std::vector<PowerReading> readings = meter.watch(0, 8, [&] { return ++ended; });
  ASSERT_EQ(readings.size(), 8u);
  EXPECT_FALSE(readings.front().watts);
  EXPECT_EQ(readings.front().sm_clock_mhz, 1500);
  EXPECT_EQ(readings.front().clock_reasons, 0u);
  EXPECT_GT(energy_use(readings).mean_watts, 0);
  EXPECT_EQ(energy_use(readings).power_samples, 0u);
  EXPECT_EQ(meter.limit_watts(), 700);
}

TEST(PowerMeter, SamplesThePowerWithoutACounter) {
  const PowerMeter meter("GPU-busy", SMEMTUNE_FAKE_NVML);
  const auto readings = meter.watch(0.01, 0, [] { return std::size_t{0}; });
  const EnergyUse use = energy_use(readings);
  EXPECT_DOUBLE_EQ(use.mean_watts, 250);
  EXPECT_GE(use.seconds, 0.01);
  EXPECT_GE(use.power_samples, 2u);
  EXPECT_EQ(use.launches, 0u);
  EXPECT_EQ(readings.front().clock_reasons, 0x4u);
}

TEST(PowerMeter, SaysWhyItReadsNothing) {
  const auto refusal = [](const char* gpu, const char* library) -> std::string {
    try {
      const PowerMeter meter(gpu, library);
      return "";
    } catch (const UnavailableError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(refusal("GPU-idle", "libno-such-library.so.1"),
            "NVML (libno-such-library.so.1) is not here");
  EXPECT_EQ(refusal("GPU-elsewhere", SMEMTUNE_FAKE_NVML),
            "NVML does not know the GPU GPU-elsewhere");
  EXPECT_EQ(refusal("GPU-crowded", SMEMTUNE_FAKE_NVML),
            "NVML tells neither energy nor power of this GPU");
  EXPECT_EQ(refusal("GPU-idle", SMEMTUNE_FAKE_NVML), "") << "it was shut down each time";
}

}  // namespace
}  // namespace smemtune::cuda
