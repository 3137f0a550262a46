#include "tuner/core/result.h"

#include "tuner/core/error.h"

#include <gtest/gtest.h>

namespace smemtune {
namespace {

TEST(StatusWords, AreThoseOfTheStoredFormat) {
  const std::vector<std::pair<Status, std::string>> words = {
      {Status::correct, "correct"},         {Status::constraints, "constraints"},
      {Status::compile, "compile"},         {Status::runtime, "runtime"},
      {Status::correctness, "correctness"}, {Status::timeout, "timeout"}};
  for (const auto& [status, word] : words) {
    EXPECT_EQ(word, to_text(status));
    EXPECT_EQ(status, parse_status(word));
  }
}

TEST(StatusWords, RefuseOthersNamingTheKnownOnes) {
  try {
    parse_status("Correct");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ("'Correct' is not a status; did you mean 'correct'?", error.what());
  }
}

TEST(StageWords, AreThoseOfTheStoredFormat) {
  const std::vector<std::pair<Stage, std::string>> words = {{Stage::none, "none"},
                                                            {Stage::screen, "screen"},
                                                            {Stage::race, "race"},
                                                            {Stage::final, "final"}};
  for (const auto& [stage, word] : words) {
    EXPECT_EQ(word, to_text(stage));
    EXPECT_EQ(stage, parse_stage(word));
  }
  EXPECT_THROW(parse_stage("finals"), InputError);
}

TEST(Result, IsTimedOnlyWhenItIsCorrectAndWasMeasured) {
  Result result;
  EXPECT_FALSE(result.timed());
  result.stage = Stage::screen;
  EXPECT_TRUE(result.timed());
  result.status = Status::correctness;
  EXPECT_FALSE(result.timed());
}

TEST(Result, HasTheSharedMemoryOfTheLaunchThatTakesMost) {
  Result result;
  EXPECT_EQ(0, result.shared_bytes());
  result.launches.resize(3);
  result.launches[0].resources.static_shared_bytes = 3000;
  result.launches[1].resources.static_shared_bytes = 1000;
  result.launches[1].shape.dynamic_shared_bytes = 2500;
  EXPECT_EQ(3500, result.launches[1].shared_bytes());
  EXPECT_EQ(3500, result.shared_bytes());
}

TEST(Outcome, HoldsEitherTheValueOrTheFailure) {
  const Outcome<int> value = 3;
  ASSERT_TRUE(value);
  EXPECT_EQ(3, *value);
  const Outcome<int> failure = Failure{Status::timeout, "run_timeout", "took 3 s, 2 s are allowed"};
  ASSERT_FALSE(failure);
  EXPECT_EQ("run_timeout", failure.failure().reason);
}

TEST(Space, FindsAKernelByName) {
  Space space;
  space.kernels.resize(2);
  space.kernels[0].name = "naive";
  space.kernels[1].name = "tiled";
  EXPECT_EQ(&space.kernels[1], space.kernel("tiled"));
  EXPECT_EQ(nullptr, space.kernel("tile"));
}

}  // namespace
}  // namespace smemtune
