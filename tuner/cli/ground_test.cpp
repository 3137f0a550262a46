#include "tuner/cli/ground.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <vector>

namespace smemtune::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Configuration tile(std::int64_t size) { return {{"TILE", size}}; }

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

TEST(Ground, HoldsWithinTheTolerance) {
  EXPECT_THAT(judge_ground(stored(32, 1.0), {timed(32, 1.02), timed(16, 1.0)}, 3).lost, IsEmpty());
  EXPECT_THAT(judge_ground(stored(32, 1.0), {timed(32, 0.5), timed(16, 0.49)}, 3).lost, IsEmpty());
}

TEST(Ground, IsLostToAnother) {
  const Ground ground = judge_ground(stored(32, 1.0), {timed(16, 0.8), timed(32, 1.0)}, 3);
  ASSERT_EQ(ground.lost.size(), 1u);
  EXPECT_THAT(ground.lost[0], HasSubstr("+25.0 % against tiled TILE=16"));
  EXPECT_THAT(ground_text(ground), HasSubstr("no longer holds: "));
  EXPECT_THAT(judge_ground(stored(32, 1.0), {timed(16, 0.8), timed(32, 1.0)}, 30).lost, IsEmpty());
}

TEST(Ground, IsLostToWhatWasStored) {
  const Ground ground = judge_ground(stored(32, 1.0), {timed(32, 1.5)}, 3);
  ASSERT_EQ(ground.lost.size(), 1u);
  EXPECT_THAT(ground.lost[0], HasSubstr("+50.0 % against the stored 1.000 ms"));
}

TEST(Ground, IsNotLostWhileIntervalsMeet) {
  Result noisy = timed(32, 1.5);
  noisy.measurement.median_low_ms = 0.9;
  EXPECT_THAT(judge_ground(stored(32, 1.0), {noisy, timed(16, 1.1)}, 3).lost, IsEmpty());
}

TEST(Ground, IsLostWhenTheResultIsWrong) {
  Result wrong = timed(32, 0.5);
  wrong.status = Status::correctness;
  wrong.reason = "mismatch";
  wrong.detail = "C[7] is 1, expected 2";
  const Ground ground = judge_ground(stored(32, 1.0), {wrong, timed(16, 2.0)}, 3);
  EXPECT_THAT(ground.lost, ElementsAre(HasSubstr("correctness/mismatch: C[7] is 1")));
  EXPECT_THAT(ground_text(ground), HasSubstr("no longer holds: correctness/mismatch"));
}

TEST(Ground, IsLostWhenTheWinnerIsNoConfigurationAnyMore) {
  const Ground ground = judge_ground(stored(32, 1.0), {timed(16, 2.0)}, 3);
  EXPECT_THAT(ground.lost, ElementsAre(HasSubstr("no longer a valid configuration")));
  const auto json = nlohmann::json::parse(ground_json({ground}, 3));
  EXPECT_EQ(json["format"], "smemtune-check");
  EXPECT_TRUE(json["problems"][0]["now"].is_null());
  EXPECT_EQ(json["problems"][0]["lost"].size(), 1u);
}

TEST(Staleness, NamesWhatHasChanged) {
  const db::StoredResult winner = stored(32, 1.0);
  EXPECT_THAT(staleness(winner, {"12.9", "13.0", "NVRTC 13.0", "a"}), IsEmpty());
  EXPECT_THAT(staleness(winner, {"13.0", "13.0", "NVRTC 13.1", "b"}),
              ElementsAre("driver 12.9, now 13.0", "compiler NVRTC 13.0, now NVRTC 13.1",
                          HasSubstr("edited")));
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
}  // namespace smemtune::cli
