#include "tuner/cli/device_sharing.h"

#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Device gpu() {
  Device device;
  device.name = "Some GPU";
  device.uuid = "GPU-7";
  return device;
}

TEST(OtherProcesses, AreNamedWithTheirMemory) {
  OtherProcesses others;
  const std::string text = others.before_run(
      gpu(), {.processes = {{.id = 12, .memory_bytes = 3 << 20}, {.id = 34}}, .busy_percent = 99});
  EXPECT_THAT(text, AllOf(HasSubstr("Some GPU (GPU-7)"), HasSubstr("process 12 (3.0 MB)"),
                          HasSubstr("process 34"), Not(HasSubstr("99"))));
}

TEST(OtherProcesses, ThatCannotBeSeenShowByWhatTheyDo) {
  OtherProcesses others;
  EXPECT_THAT(others.before_run(gpu(), {.processes = {}, .busy_percent = 87}), HasSubstr("87 %"));
  EXPECT_EQ(others.before_run(gpu(), {.processes = {}, .busy_percent = 3}), "");
  EXPECT_EQ(others.before_run(gpu(), {}), "");
}

TEST(OtherProcesses, AreNotOurOwnWorkers) {
  OtherProcesses others;
  EXPECT_EQ(others.before_run(gpu(), {}), "");
  EXPECT_EQ(others.during_run(gpu(), {.processes = {{.id = 5}}}, {4, 5}), "");
  const std::string text = others.during_run(gpu(), {.processes = {{.id = 5}, {.id = 77}}}, {4, 5});
  EXPECT_THAT(text, AllOf(HasSubstr("process 77"), Not(HasSubstr("process 5"))));
}

TEST(OtherProcesses, AreToldFromOurWorkerWhereItsIdIsCountedOtherwise) {
  OtherProcesses others;
  others.before_run(gpu(), {.processes = {{.id = 900}}});
  const std::string text = others.during_run(gpu(), {.processes = {{.id = 900}, {.id = 901}}}, {4});
  EXPECT_THAT(text, AllOf(HasSubstr("process 900"), Not(HasSubstr("901"))));
  EXPECT_EQ(others.during_run(gpu(), {.processes = {{.id = 901}}}, {4}), "");
  EXPECT_EQ(others.during_run(gpu(), {}, {4}), "");
}

TEST(StartupCheck, OfAnIdleDeviceIsDoneAtOnce) {
  std::vector<std::string> said;
  StartupCheck startup(
      {gpu()}, [](const Device&) { return DeviceUse{.processes = {}, .busy_percent = 3}; },
      [&](const std::string& line) { said.push_back(line); }, {});
  EXPECT_TRUE(startup.done({}));
  EXPECT_THAT(said, testing::IsEmpty());
}

TEST(StartupCheck, NamesProcessesAtOnce) {
  std::vector<std::string> said;
  StartupCheck startup(
      {gpu()},
      [](const Device&) { return DeviceUse{.processes = {{.id = 12}}, .busy_percent = 99}; },
      [&](const std::string& line) { said.push_back(line); }, {});
  EXPECT_TRUE(startup.done({}));
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("process 12")));
}

TEST(StartupCheck, TakesALoadForSomeoneElsesOnlyWhenItStays) {
  for (const int later_percent : {0, 80}) {
    int percent = 90;
    std::vector<std::string> said;
    StartupCheck startup(
        {gpu()}, [&](const Device&) { return DeviceUse{.processes = {}, .busy_percent = percent}; },
        [&](const std::string& line) { said.push_back(line); }, {});
    EXPECT_FALSE(startup.done({}));
    EXPECT_THAT(said, testing::IsEmpty());
    percent = later_percent;
    EXPECT_TRUE(startup.done(StartupCheck::Clock::time_point(std::chrono::seconds(5))));
    EXPECT_EQ(said.size(), later_percent == 0 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace smemtune::cli
