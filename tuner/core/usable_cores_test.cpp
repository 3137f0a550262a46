#include "tuner/core/usable_cores.h"

#include <gtest/gtest.h>

#include <sched.h>

namespace smemtune {
namespace {

TEST(UsableCores, AreNoMoreThanTheAffinityMaskHas) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(usable_cores(), 1u);
  EXPECT_LE(usable_cores(), static_cast<unsigned>(CPU_COUNT(&before)));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(UsableCores, OfAQuotaAreRoundedUp) {
  EXPECT_EQ(cores_of_quota("200000 100000"), 2u);
  EXPECT_EQ(cores_of_quota("150000 100000"), 2u);
  EXPECT_EQ(cores_of_quota("1000 100000"), 1u);
  EXPECT_EQ(cores_of_quota("max 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota(""), std::nullopt);
  EXPECT_EQ(cores_of_quota("100000 0"), std::nullopt);
}

}  // namespace
}  // namespace smemtune
