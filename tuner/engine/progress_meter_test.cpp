#include "tuner/engine/progress_meter.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(ProgressMeter, SaysNothingBeforeThereIsEnoughToSay) {
  ProgressMeter meter;
  EXPECT_EQ(meter.per_s(0), 0);
  EXPECT_FALSE(meter.remaining_s(0, 100));
  for (int i = 0; i < 9; ++i) meter.count(i);
  EXPECT_FALSE(meter.remaining_s(9, 100));  // Nine are too few.
  ProgressMeter quick;
  for (int i = 0; i < 20; ++i) quick.count(0.01 * i);
  EXPECT_FALSE(quick.remaining_s(0.2, 100));  // Twenty within a fifth of a second are too few, too.
}

TEST(ProgressMeter, DividesWhatIsLeftByTheRate) {
  ProgressMeter meter;
  for (int i = 0; i <= 20; ++i) meter.count(0.5 * i);
  EXPECT_DOUBLE_EQ(meter.per_s(10), 2);
  EXPECT_DOUBLE_EQ(*meter.remaining_s(10, 100), 50);
  EXPECT_DOUBLE_EQ(*meter.remaining_s(10, 0), 0);
}

TEST(ProgressMeter, ForgetsHowFastItOnceWas) {
  ProgressMeter meter;
  for (int i = 0; i < 1000; ++i) meter.count(0.01 * i);  // A hundred a second, for ten seconds.
  for (int i = 1; i <= 30; ++i) meter.count(10 + i);     // Then one a second.
  EXPECT_NEAR(meter.per_s(40), 1, 0.1);
}

TEST(ProgressMeter, ARateThatFellToNothingGivesNoGuess) {
  ProgressMeter meter;
  for (int i = 0; i < 20; ++i) meter.count(i);
  EXPECT_FALSE(meter.remaining_s(100, 5));
}

}  // namespace
}  // namespace smemtune
