#include "tuner/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Progress halfway() {
  Progress progress;
  progress.problem_number = 1;
  progress.problem_count = 2;
  progress.phase = "search";
  progress.done = 34;
  progress.valid = 128;
  progress.failed = 2;
  progress.configurations_per_s = 12.34;
  progress.waiting_for = "compiler";
  progress.elapsed_s = 5;
  progress.remaining_s = 7.6;
  return progress;
}

TEST(ProgressText, SaysHowFarHowFastForWhatAndHowLong) {
  EXPECT_EQ(progress_text(halfway(), DeviceKind::gpu, 200),
            "[1/2] 0:08 left, 34 of 128, 2 failed, 12.3/s, waiting for compiler");
}

TEST(ProgressText, CountsNothingBeforeItIsCounted) {
  Progress progress;
  progress.phase = "prepare";
  EXPECT_EQ(progress_text(progress, DeviceKind::gpu, 200), "prepare, 0:00");
}

TEST(ProgressText, NamesTheDeviceThatIsWaitedFor) {
  Progress progress = halfway();
  progress.waiting_for = "device";
  EXPECT_THAT(progress_text(progress, DeviceKind::gpu, 200), HasSubstr("waiting for GPU"));
  EXPECT_THAT(progress_text(progress, DeviceKind::cpu, 200), HasSubstr("waiting for CPU"));
}

TEST(ProgressText, NamesTheHostsThatAreWaitedForAndThoseThatAreAway) {
  Progress progress = halfway();
  progress.compiling_hosts = {"node1", "node2"};
  progress.hosts_away = {"node3", "node4", "node5", "node6"};
  const std::string away = "without node3, node4, node5 and 1 more";
  progress.waiting_for = "device";
  EXPECT_EQ(hosts_text(progress), away) << "compilers are at work and not waited for";
  progress.waiting_for = "compiler";
  EXPECT_EQ(hosts_text(progress), "waiting for compiler on node1, node2, " + away);
  const std::string text = progress_text(progress, DeviceKind::gpu, 200);
  EXPECT_THAT(text, HasSubstr(", waiting for compiler on node1, node2, " + away));
}

TEST(ProgressText, SaysTheTimeThatHasPassedWhileNoEstimateIsHonest) {
  Progress progress = halfway();
  progress.remaining_s.reset();
  const std::string text = progress_text(progress, DeviceKind::gpu, 200);
  EXPECT_THAT(text, HasSubstr("0:05"));
  EXPECT_THAT(text, Not(HasSubstr("left")));
}

TEST(ProgressText, ShowsTheBestSoFarAndFitsTheTerminal) {
  Progress progress = halfway();
  Result best;
  best.kernel = "tiled";
  best.configuration = {{"TILE", std::int64_t{32}}};
  best.measurement.median_ms = 0.5;
  progress.best = best;
  EXPECT_THAT(progress_text(progress, DeviceKind::gpu, 200), HasSubstr("tiled TILE=32"));
  progress.chance_of_better = 0.23;
  EXPECT_EQ(progress_text(progress, DeviceKind::gpu, 80),
            "[1/2] best 500.0 us, 77 % sure within 1 %, 0:08 left, 34 of 128, 2 failed, 12...");
  for (std::size_t width = 0; width < 120; ++width) {
    EXPECT_LE(progress_text(progress, DeviceKind::gpu, width).size(), width);
  }
}

TEST(FormatDuration, UsesMinutesAndHours) {
  EXPECT_EQ(format_duration(0.4), "0:00");
  EXPECT_EQ(format_duration(61), "1:01");
  EXPECT_EQ(format_duration(3723), "1:02:03");
}

}  // namespace
}  // namespace smemtune::cli
