#include "tuner/core/kernel_binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smemtune {
namespace {

using testing::ElementsAre;

TEST(LaunchTimes, AreMediansOfWhatTheTurnsOfALaunchTakeTogether) {
  const std::vector<Turn> turns = {{.launch = 0}, {.launch = 2}, {.launch = 0}};
  EXPECT_THAT(launch_times_ms(turns, 3, {{1, 10, 2}, {5, 30, 5}, {2, 20, 3}}),
              ElementsAre(5, 0, 20));
}

}  // namespace
}  // namespace smemtune
