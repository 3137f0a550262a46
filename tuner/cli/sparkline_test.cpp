#include "tuner/cli/sparkline.h"

#include <gtest/gtest.h>

namespace smemtune::cli {
namespace {

TEST(Sparkline, FallsWithTheBestOnALogarithmicScale) {
  Sparkline line;
  line.add(1, 16);
  line.add(2, 8);
  line.add(3, 8);
  line.add(4, 4);
  line.add(5, 1);
  EXPECT_EQ("@**+.", line.text(16, /*utf8=*/false));
  EXPECT_EQ("█▆▆▅▁", line.text(16, /*utf8=*/true));
  EXPECT_EQ("@*.", line.text(3, false)) << "evenly over what was done";
}

TEST(Sparkline, IsEmptyUntilThereIsSomethingToCompare) {
  Sparkline line;
  EXPECT_EQ("", line.text(16, false));
  line.add(1, 3);
  EXPECT_EQ("", line.text(16, false));
  line.add(2, 3);
  EXPECT_EQ("..", line.text(16, false)) << "level";
}

TEST(Sparkline, BeginsAnewWithTheNextProblem) {
  Sparkline line;
  line.add(100, 3);
  line.add(1, 9);
  line.add(2, 3);
  EXPECT_EQ("@.", line.text(16, false));
}

}  // namespace
}  // namespace smemtune::cli
