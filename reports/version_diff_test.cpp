#include "reports/version_diff.h"

#include "reports/wide_page_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace smemtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result timed(double ms) {
  Result result;
  result.kernel = "tiled";
  result.stage = Stage::final;
  result.measurement.median_ms = ms;
  return result;
}

Result wrong() {
  Result result;
  result.status = Status::correctness;
  result.reason = "mismatch";
  return result;
}

VersionPair pair(std::optional<Result> old_result, std::optional<Result> new_result,
                 std::optional<Slowdown> slower) {
  return {.problem = {{"N", std::int64_t{4096}}},
          .what = "winner",
          .old_one = {"tiled", {{"TILE", std::int64_t{8}}}},
          .new_one = {"tiled", {{"TILE", std::int64_t{16}}}},
          .old_result = std::move(old_result),
          .new_result = std::move(new_result),
          .slower = slower};
}

TEST(VersionPairIsALoss, WhereItIsClearlySlowerByMoreThanTheTolerance) {
  EXPECT_TRUE(pair(timed(1), timed(1.05), Slowdown{5, 4, 6}).is_loss(3));
  EXPECT_FALSE(pair(timed(1), timed(1.05), Slowdown{5, 4, 6}).is_loss(5.5));
  EXPECT_FALSE(pair(timed(1), timed(1.05), Slowdown{5, -1, 11}).is_loss(3)) << "cannot be told";
  EXPECT_FALSE(pair(timed(1), timed(0.9), Slowdown{-10, -11, -9}).is_loss(3));
  EXPECT_FALSE(pair(timed(1), timed(1), std::nullopt).is_loss(3));
}

TEST(VersionPairIsALoss, WhereItNoLongerWorks) {
  EXPECT_TRUE(pair(timed(1), wrong(), std::nullopt).is_loss(3));
  EXPECT_TRUE(pair(timed(1), std::nullopt, std::nullopt).is_loss(3));
  EXPECT_FALSE(pair(wrong(), wrong(), std::nullopt).is_loss(3)) << "it never did";
  EXPECT_FALSE(pair(wrong(), timed(1), std::nullopt).is_loss(3));
  VersionPair same = pair(std::nullopt, std::nullopt, std::nullopt);
  same.same_code = true;
  EXPECT_FALSE(same.is_loss(3));
}

VersionDiff some_diff() {
  VersionDiff diff;
  diff.space = "gemm";
  diff.old_name = "HEAD~1:gemm|.json";
  diff.new_name = "gemm.json";
  diff.device = "NVIDIA H200";
  diff.pairs = {pair(timed(1), timed(1.05), Slowdown{5, 4, 6}), pair(timed(1), wrong(), {}),
                pair(wrong(), timed(2), {})};
  diff.pairs.push_back(pair({}, {}, {}));
  diff.pairs.back().same_code = true;
  return diff;
}

TEST(VersionDiffText, SaysWhatIsALoss) {
  const std::string text = version_diff_text(some_diff());
  EXPECT_THAT(text,
              AllOf(HasSubstr("gemm on NVIDIA H200: HEAD~1:gemm|.json -> gemm.json\n"),
                    HasSubstr("tiled TILE=8 -> tiled TILE=16  1.000 ms  1.050 ms  5.0 % "
                              "slower (4.0 to 6.0 %) LOSS\n"),
                    HasSubstr("fails now: correctness/mismatch LOSS\n"),
                    HasSubstr("works now; old: correctness/mismatch\n"),
                    HasSubstr("same code: nothing to measure\n"),
                    HasSubstr("\n  2 of 4 slower by more than 3.0 %, or no longer correct: see "
                              "LOSS\n")));
  EXPECT_THAT(version_diff_text(some_diff(), Markup::markdown),
              AllOf(HasSubstr("### gemm on NVIDIA H200: HEAD\\~1:gemm\\|.json -\\> gemm.json\n"),
                    HasSubstr("| winner |"), Not(HasSubstr("gemm|.json"))));
}

TEST(VersionDiffText, SaysThatSomethingCannotBeTold) {
  VersionDiff diff = some_diff();
  diff.pairs = {pair(timed(1), timed(1), Slowdown{1, -5, 9})};
  EXPECT_THAT(version_diff_findings(diff),
              testing::ElementsAre("nothing is known to be slower by more than 3.0 %",
                                   "1 of 1 cannot be told: the times vary too much"));
}

TEST(VersionDiffView, HasNoFailureWhereNothingWasMeasured) {
  const auto view = version_diff_view(some_diff());
  EXPECT_EQ(view["pairs"][1]["new"]["failure"], "correctness/mismatch");
  EXPECT_EQ(view["pairs"][3]["new"]["failure"], "same code");
}

TEST(VersionDiffJson, HasAnOutcomeForEachPair) {
  const nlohmann::json document = nlohmann::json::parse(version_diff_json(some_diff()));
  EXPECT_EQ(document.at("format"), "smemtune-diff");
  std::vector<std::string> outcomes;
  for (const auto& one : document.at("pairs")) outcomes.push_back(one.at("outcome"));
  EXPECT_THAT(outcomes, testing::ElementsAre("slower", "fails now", "works now", "same code"));
  EXPECT_EQ(document.at("pairs").at(0).at("loss"), true);
  EXPECT_EQ(document.at("pairs").at(0).at("slower").at("low_percent"), 4.0);
  EXPECT_TRUE(document.at("pairs").at(1).at("slower").is_null());
}

}  // namespace
}  // namespace smemtune
