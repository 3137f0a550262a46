#include "tuner/core/failure_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Relation = ParameterCondition::Relation;

/// Returns results for X in 16, 32, 64, 128; Y in 1 to 6; LAYOUT row and column.
std::vector<Result> results(const std::function<bool(int x, int y, bool row)>& is_wrong) {
  std::vector<Result> all;
  for (const int x : {16, 32, 64, 128}) {
    for (int y = 1; y <= 6; ++y) {
      for (const bool row : {true, false}) {
        Result result;
        result.kernel = "tiled";
        result.configuration = {
            {"LAYOUT", row ? "row" : "column"}, {"X", std::int64_t{x}}, {"Y", std::int64_t{y}}};
        if (is_wrong(x, y, row)) {
          result.status = Status::correctness;
          result.reason = y == 1 ? "unwritten" : "mismatch";
        }
        all.push_back(std::move(result));
      }
    }
  }
  return all;
}

std::vector<std::string> texts(const std::vector<Result>& all) {
  std::vector<std::string> lines;
  for (const FailurePattern& pattern : failure_patterns(all, {})) lines.push_back(to_text(pattern));
  return lines;
}

TEST(FailurePatterns, AreValuesThatAllFailuresHaveAndNothingElse) {
  EXPECT_THAT(texts(results([](int x, int, bool) { return x != 64; })),
              ElementsAre("all 36 of tiled with X != 64 are wrong (30 mismatch, 6 unwritten)"));
  EXPECT_THAT(texts(results([](int, int, bool row) { return !row; })),
              ElementsAre("all 24 of tiled with LAYOUT == column are wrong (20 mismatch, 4 "
                          "unwritten)"));
  EXPECT_THAT(texts(results([](int, int y, bool) { return y >= 4; })),
              ElementsAre("all 24 of tiled with Y >= 4 are wrong (mismatch)"));
  EXPECT_THAT(texts(results([](int, int y, bool) { return y == 6; })),
              ElementsAre("all 8 of tiled with Y == 6 are wrong (mismatch)"));
}

TEST(FailurePatterns, NeedTwoValuesOnlyWhereOneDoesNotExplainThem) {
  EXPECT_THAT(
      texts(results([](int x, int, bool row) { return row && x >= 64; })),
      ElementsAre("all 12 of tiled with LAYOUT == row and X >= 64 are wrong (10 mismatch, 2 "
                  "unwritten)"));
}

TEST(FailurePatterns, AreSeveralWhereOneDoesNotExplainAll) {
  const std::vector<FailurePattern> patterns =
      failure_patterns(results([](int x, int y, bool) { return x == 128 || y == 1; }), {});
  ASSERT_EQ(patterns.size(), 2u);
  EXPECT_THAT(patterns[0].conditions,
              ElementsAre(ParameterCondition{"X", Relation::equal, std::int64_t{128}}));
  EXPECT_EQ(patterns[0].failures, 12u);
  EXPECT_THAT(patterns[1].conditions,
              ElementsAre(ParameterCondition{"Y", Relation::equal, std::int64_t{1}}));
}

TEST(FailurePatterns, AreNotSeenInChance) {
  // These failures follow no value.
  for (unsigned seed = 1; seed <= 50; ++seed) {
    unsigned state = seed;
    const auto next = [&state] { return (state = state * 1664525u + 1013904223u) >> 16; };
    EXPECT_THAT(texts(results([&](int, int, bool) { return next() % 3 == 0; })), IsEmpty()) << seed;
  }
}

TEST(FailurePatterns, SayNothingWhereAllOrFewFail) {
  EXPECT_THAT(texts(results([](int, int, bool) { return true; })), IsEmpty());
  EXPECT_THAT(texts(results([](int x, int y, bool) { return x == 16 && y == 1; })), IsEmpty());
  EXPECT_THAT(texts({}), IsEmpty());
}

TEST(FailurePatterns, LeaveOutWhatNeverGotThere) {
  // Every compiled configuration with Y above 3 is wrong; the others exceed a limit or do not
  // compile.
  std::vector<Result> all = results([](int, int y, bool) { return y > 3; });
  for (Result& result : all) {
    if (result.configuration.at("X") == Value{std::int64_t{16}}) {
      result.status = Status::constraints;
      result.reason = "threads";
    }
    if (result.configuration.at("X") == Value{std::int64_t{32}}) {
      result.status = Status::compile;
      result.reason = "error";
    }
  }
  EXPECT_THAT(texts(all), ElementsAre("all 12 of tiled with X == 32 do not compile (error)",
                                      "all 12 of tiled with Y >= 4 are wrong (mismatch)"));
}

/// A kernel whose blocks depend on X; Y is a second parameter.
KernelTemplate tiled(const std::string& grid) {
  KernelTemplate kernel;
  kernel.name = "tiled";
  kernel.parameters = {{.name = "X", .values = {}}, {.name = "Y", .values = {}}};
  LaunchTemplate launch;
  launch.block = {{"X", "/block"}};
  launch.grid = {{grid, "/grid"}};
  kernel.launches = {launch};
  return kernel;
}

TEST(FailurePatterns, HintAtAGridThatDoesNotDependOnWhatTheBlockDoes) {
  const std::vector<Result> all = results([](int x, int, bool) { return x != 64; });
  const std::vector<KernelTemplate> fixed = {tiled("N / XX")};
  EXPECT_THAT(to_text(failure_patterns(all, fixed).front()),
              testing::EndsWith(": the grid does not depend on X"));
  const std::vector<KernelTemplate> divided = {tiled("ceil_div(N, X)")};
  EXPECT_EQ(failure_patterns(all, divided).front().hint, "");
}

TEST(FailurePatterns, MayBeFewWhereTheGridDoesNotDependOnWhatTheyHaveInCommon) {
  const auto few = [](const std::function<bool(int x, int y)>& is_wrong) {
    std::vector<Result> found = results([&](int x, int y, bool) { return is_wrong(x, y); });
    std::erase_if(found, [](const Result& one) {
      return std::get<std::int64_t>(one.configuration.at("Y")) > 2 ||
             one.configuration.at("LAYOUT") == Value("row");
    });
    return found;
  };
  const std::vector<KernelTemplate> fixed = {tiled("N / 64")};
  const std::vector<KernelTemplate> divided = {tiled("N / X")};
  const std::vector<Result> by_x = few([](int x, int) { return x < 64; });
  const std::vector<FailurePattern> found = failure_patterns(by_x, fixed);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_text(found.front()),
            "all 4 of tiled with X <= 32 are wrong (2 mismatch, 2 unwritten): the grid does not "
            "depend on X");
  EXPECT_THAT(failure_patterns(by_x, divided), IsEmpty());
  EXPECT_THAT(failure_patterns(few([](int x, int y) { return x < 64 && y == 1; }), fixed),
              IsEmpty());
}

}  // namespace
}  // namespace smemtune
