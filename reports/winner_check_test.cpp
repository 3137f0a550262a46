#include "reports/winner_check.h"

#include "db/planted_results_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <vector>

namespace smemtune {
namespace {

using db::tile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result timed(std::int64_t size, double ms) {
  Result result;
  result.kernel = "tiled";
  result.configuration = tile(size);
  result.stage = Stage::final;
  result.measurement = summarize(std::vector<double>(9, ms));
  return result;
}

db::StoredResult stored(std::int64_t size, double ms, Stage stage = Stage::final) {
  db::StoredResult result;
  result.space = "gemm";
  result.result = timed(size, ms);
  result.result.stage = stage;
  result.device.driver_version = "12.9";
  result.device.runtime_version = "13.0";
  result.compiler = "NVRTC 13.0";
  result.kernel_hash = "a";
  return result;
}

TEST(WinnerCheck, HoldsWithinTheTolerance) {
  EXPECT_THAT(check_winner(stored(32, 1.0), {timed(32, 1.02), timed(16, 1.0)}, 3).lost, IsEmpty());
  EXPECT_THAT(check_winner(stored(32, 1.0), {timed(32, 0.5), timed(16, 0.49)}, 3).lost, IsEmpty());
}

TEST(WinnerCheck, FailsWhereAnotherIsFaster) {
  const WinnerCheck check = check_winner(stored(32, 1.0), {timed(16, 0.8), timed(32, 1.0)}, 3);
  ASSERT_EQ(check.lost.size(), 1u);
  EXPECT_THAT(check.lost[0], HasSubstr("+25.0 % against tiled TILE=16"));
  EXPECT_THAT(winner_check_text(check), HasSubstr("no longer holds: "));
  EXPECT_THAT(check_winner(stored(32, 1.0), {timed(16, 0.8), timed(32, 1.0)}, 30).lost, IsEmpty());
}

TEST(WinnerCheck, FailsWhereItIsSlowerThanStored) {
  const WinnerCheck check = check_winner(stored(32, 1.0), {timed(32, 1.5)}, 3);
  ASSERT_EQ(check.lost.size(), 1u);
  EXPECT_THAT(check.lost[0], HasSubstr("+50.0 % against the stored 1.000 ms"));
}

TEST(WinnerCheck, HoldsWhileIntervalsMeet) {
  Result noisy = timed(32, 1.5);
  noisy.measurement.median_low_ms = 0.9;
  EXPECT_THAT(check_winner(stored(32, 1.0), {noisy, timed(16, 1.1)}, 3).lost, IsEmpty());
}

TEST(WinnerCheck, FailsWhenTheResultIsWrong) {
  Result wrong = timed(32, 0.5);
  wrong.status = Status::correctness;
  wrong.reason = "mismatch";
  wrong.detail = "C[7] is 1, expected 2";
  const WinnerCheck check = check_winner(stored(32, 1.0), {wrong, timed(16, 2.0)}, 3);
  EXPECT_THAT(check.lost, ElementsAre(HasSubstr("correctness/mismatch: C[7] is 1")));
  EXPECT_THAT(winner_check_text(check), HasSubstr("no longer holds: correctness/mismatch"));
}

TEST(WinnerCheck, FailsWhenTheWinnerIsNoLongerAConfiguration) {
  const WinnerCheck check = check_winner(stored(32, 1.0), {timed(16, 2.0)}, 3);
  EXPECT_THAT(check.lost, ElementsAre(HasSubstr("no longer a valid configuration")));
  const auto json = nlohmann::json::parse(winner_checks_json({check}, 3));
  EXPECT_EQ(json["format"], "smemtune-check");
  EXPECT_TRUE(json["problems"][0]["now"].is_null());
  EXPECT_EQ(json["problems"][0]["lost"].size(), 1u);
}

TEST(Staleness, NamesWhatHasChanged) {
  const db::StoredResult winner = stored(32, 1.0);
  EXPECT_THAT(staleness(winner, {"12.9", "13.0", "NVRTC 13.0", "a"}), IsEmpty());
  EXPECT_THAT(staleness(winner, {"13.0", "13.0", "NVRTC 13.1", "b"}),
              ElementsAre("driver 12.9, now 13.0", "compiler NVRTC 13.0, now NVRTC 13.1",
                          HasSubstr("the kernel's source")));
}

TEST(Contestants, AreTheWinnerTheFastestOthersAndTheDefault) {
  const std::vector<db::StoredResult> others = {stored(8, 4.0), stored(16, 2.0), stored(32, 1.0),
                                                stored(64, 0.5, Stage::screen), stored(16, 2.1)};
  EXPECT_THAT(
      contestants(stored(32, 1.0), others, tile(128), 2),
      ElementsAre(KernelConfiguration{"tiled", tile(32)}, KernelConfiguration{"tiled", tile(16)},
                  KernelConfiguration{"tiled", tile(8)}, KernelConfiguration{"tiled", tile(128)}));
  EXPECT_THAT(contestants(stored(32, 1.0), others, tile(32), 0),
              ElementsAre(KernelConfiguration{"tiled", tile(32)}));
}

}  // namespace
}  // namespace smemtune
