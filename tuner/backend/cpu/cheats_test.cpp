// Kernels that notice being timed, on the CPU device.

#include "tuner/backend/cheats_test_support.h"
#include "tuner/backend/cpu/kernel_test_support.h"

#include <gtest/gtest.h>

#include <string>

namespace smemtune::cpu {
namespace {

constexpr std::int64_t kCheatedElements = 256;

class Cheats : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto compiled = compile(cheating_source(), cheating_entries());
    ASSERT_TRUE(compiled) << compiled.failure().detail;
    compiled_ = std::move(*compiled);
  }

  void SetUp() override {
    for (const WorkloadId id : {0, 1}) {
      const std::uint64_t seed = id == 0 ? 1 : 2;
      ASSERT_TRUE(
          launcher_.prepare(id, {.arguments = cheated_arguments(kCheatedElements), .seed = seed}));
    }
    reference_ = load("honest");
    for (const WorkloadId id : {0, 1}) {
      const auto report = launcher_.run(
          reference_, {.workload = id, .as_reference = true, .tolerance = {}, .download = {}});
      ASSERT_TRUE(report) << report.failure().detail;
      ASSERT_FALSE(report->mismatch) << report->mismatch->reason;
    }
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(*launcher_.draw_data(reference_, 0));
  }

  KernelHandle load(const std::string& name) {
    const auto loaded = launcher_.load(-1, compiled_, cheating_launch(name, kCheatedElements),
                                       cheated_arguments(kCheatedElements));
    if (!loaded) throw Error(loaded.failure().detail);
    return loaded->handle;
  }

  /// Whether it takes much less time than the honest kernel, again and again: on a busy machine
  /// either may be slow for a while.
  bool gains(const std::string& name, Fate fate, Fate honest) {
    for (int i = 0; i < 4; ++i) {
      if (fate.median_ms > 0.6 * honest.median_ms) return false;
      honest = fate_of(launcher_, reference_, load("honest"), 12);
      fate = fate_of(launcher_, reference_, load(name), 12);
    }
    return true;
  }

  static CompiledKernel compiled_;
  CpuLauncher launcher_{test_limits()};
  KernelHandle reference_ = 0;
};
CompiledKernel Cheats::compiled_;

TEST_F(Cheats, AreFoundInTimedLaunchesOrGainNothing) {
  const Fate honest = fate_of(launcher_, reference_, load("honest"), 12);
  ASSERT_EQ("", honest.reason);
  for (const Cheat& cheat : kCheats) {
    const Fate fate = fate_of(launcher_, reference_, load(cheat.name), 12);
    // On the CPU device every launch uses the same buffers, so the work that was left is the work
    // to do.
    const bool must_be_found = cheat.is_wrong && std::string(cheat.name) != "leaves_work";
    EXPECT_EQ(must_be_found, fate.reason != "") << cheat.name << " " << fate.reason;
    if (!fate.reason.empty()) continue;
    EXPECT_FALSE(gains(cheat.name, fate, honest)) << cheat.name;
  }
}

// Cheats are found when the workload has one set of data, and when no data can be drawn, too.
TEST_F(Cheats, AreFoundWithTheWorkloadsOwnDataWhereNoneAreDrawn) {
  std::vector<Argument> arguments = cheated_arguments(kCheatedElements);
  for (Argument& argument : arguments) {
    if (argument.init.kind != Init::Kind::uniform) continue;
    argument.init = {.kind = Init::Kind::constant, .a = 1.5, .b = 0, .file = {}};
  }
  ASSERT_TRUE(launcher_.prepare(0, {.arguments = arguments, .seed = 1}));
  ASSERT_TRUE(launcher_.run(
      reference_, {.workload = 0, .as_reference = true, .tolerance = {}, .download = {}}));
  EXPECT_FALSE(*launcher_.draw_data(reference_, 0));
  for (const char* const name : {"counts_launches", "returns_if_unchanged", "half_the_blocks"}) {
    const KernelHandle handle = load(name);
    std::string reason;
    for (int i = 0; i < 16 && reason.empty(); ++i) {
      const auto report = launcher_.time(handle, {.workload = 0, .launches_per_sample = 1});
      ASSERT_TRUE(report);
      if (report->mismatch) reason = report->mismatch->reason;
    }
    EXPECT_EQ("unwritten", reason) << name;
  }
}

TEST_F(Cheats, AreNotSoughtWhereNothingIsTheReference) {
  ASSERT_TRUE(launcher_.prepare(0, {.arguments = cheated_arguments(kCheatedElements), .seed = 1}));
  EXPECT_FALSE(*launcher_.draw_data(reference_, 0));
  const auto report = launcher_.time(load("counts_launches"), {.workload = 0, .samples = 20});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->mismatch);
}

}  // namespace
}  // namespace smemtune::cpu
