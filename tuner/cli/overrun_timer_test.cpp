#include "tuner/cli/progress.h"

#include <gtest/gtest.h>

namespace smemtune::cli {
namespace {

using std::chrono::milliseconds;

constexpr OverrunTimer::Clock::time_point kBegun{std::chrono::hours(1)};

TEST(OverrunTimer, IsSilentWithinASecondAndWithoutALimit) {
  OverrunTimer punctual(kBegun, 4);
  punctual.phase("the search", kBegun);
  EXPECT_EQ(punctual.text(kBegun + milliseconds(5000)), "");
  OverrunTimer unlimited(kBegun, 0);
  unlimited.phase("the search", kBegun);
  EXPECT_EQ(unlimited.text(kBegun + milliseconds(5000)), "");
}

TEST(OverrunTimer, SaysWhatTookTheTimeBehindItsEnd) {
  OverrunTimer late(kBegun, 4);
  late.phase("starting workers", kBegun);
  late.phase("the search", kBegun + milliseconds(3000));
  late.phase("the search", kBegun + milliseconds(3500));
  late.phase("the finals", kBegun + milliseconds(4600));
  late.phase("the search", kBegun + milliseconds(6800));
  late.phase("ending the workers", kBegun + milliseconds(7000));
  EXPECT_EQ(late.text(kBegun + milliseconds(7050)),
            "ended 3.0 s after the 4.0 s of --max-time: 2.2 s the finals, 0.8 s the search");
}

TEST(OverrunTimer, SaysThatItBeganTooLate) {
  OverrunTimer late(kBegun, 0.5);
  late.phase("starting workers", kBegun + milliseconds(100));
  late.phase("the search", kBegun + milliseconds(3500));
  EXPECT_EQ(late.text(kBegun + milliseconds(3520)),
            "ended 3.0 s after the 0.5 s of --max-time: 3.0 s starting workers");
}

TEST(OverrunTimer, DoesNotCountWaitingForOthers) {
  OverrunTimer late(kBegun, 4);
  late.leave_out(kBegun, kBegun + milliseconds(60000));
  late.phase("the search", kBegun + milliseconds(60000));
  EXPECT_EQ(late.begun(), kBegun + milliseconds(60000));
  EXPECT_EQ(late.text(kBegun + milliseconds(64500)), "");
  EXPECT_EQ(late.text(kBegun + milliseconds(66000)),
            "ended 2.0 s after the 4.0 s of --max-time: 2.0 s the search");
}

}  // namespace
}  // namespace smemtune::cli
