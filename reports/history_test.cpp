#include "reports/history.h"

#include "db/planted_results_test_support.h"
#include "db/result_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace smemtune {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class WinnerHistories : public testing::Test {
 protected:
  /// Stores finals of a run on a driver: TILE=8, the winner, took `ms`, TILE=16 more.
  void record(const std::string& run, const std::string& driver, double ms) {
    Device device = db::planted_device("Planted");
    device.driver_version = driver;
    const auto log = store_.begin_run(db::planted_run(device, run));
    for (const std::int64_t tile : {8, 16}) {
      Result result = db::planted({{"TILE", tile}}, tile == 8 ? ms : 2 * ms);
      result.stage = Stage::final;
      result.chosen = tile == 8;
      log->record("hash", result);
    }
  }

  std::vector<WinnerHistory> histories() { return winner_histories(store_, {}); }

  db::ResultStore store_ = db::ResultStore(":memory:");
};

TEST_F(WinnerHistories, ShowAChangeWithWhatChangedThen) {
  for (int i = 0; i < 14; ++i) {
    const double noise = 1 + 0.001 * (i * 7 % 5);
    record("run " + std::to_string(i), i < 8 ? "12.8" : "13.0", (i < 8 ? 1.0 : 1.1) * noise);
  }
  const std::vector<WinnerHistory> found = histories();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].points, SizeIs(14));
  ASSERT_THAT(found[0].changes, SizeIs(1));
  EXPECT_EQ(found[0].changes[0].first, 8u);
  const std::string text = history_text(found, Markup::text);
  EXPECT_THAT(text, HasSubstr("tiled TILE=8"));
  EXPECT_THAT(text, HasSubstr("*** 10.0 % slower since"));
  EXPECT_THAT(text, HasSubstr("driver 12.8, now 13.0"));
  EXPECT_THAT(history_text(found, Markup::markdown), HasSubstr("## gemm"));
  const Json json = Json::parse(history_json(found));
  EXPECT_EQ(json["histories"][0]["points"].size(), 14u);
  EXPECT_EQ(json["histories"][0]["changes"][0]["with"], "driver 12.8, now 13.0");
}

TEST_F(WinnerHistories, SayThatNothingChangedOrThatItIsTooEarly) {
  for (int i = 0; i < 10; ++i) record("run " + std::to_string(i), "13.0", 1 + 0.001 * (i * 7 % 5));
  EXPECT_THAT(history_text(histories(), Markup::text),
              HasSubstr("10 measurements: to tell a change from chance takes 11"));
  record("last", "13.0", 1);
  EXPECT_THAT(history_text(histories(), Markup::text), HasSubstr("no change in 11 measurements"));
}

TEST_F(WinnerHistories, WriteTheNewestForOtherTools) {
  record("old", "12.8", 1);
  record("new", "13.0", 1.25);
  const Json bencher = Json::parse(history_bencher(histories()));
  const Json& latency = bencher["gemm/N=4096,T=float/Planted"]["latency"];
  EXPECT_DOUBLE_EQ(latency["value"], 1.25e6);
  EXPECT_LE(latency["lower_value"], latency["value"]);
  EXPECT_GE(latency["upper_value"], latency["value"]);

  const Json nvbench = Json::parse(history_nvbench(histories()));
  EXPECT_EQ(nvbench["meta"]["version"]["json"]["string"], "1.0.0");
  EXPECT_EQ(nvbench["devices"][0]["name"], "Planted");
  EXPECT_EQ(nvbench["benchmarks"][0]["axes"][0]["name"], "problem");
  const Json& state = nvbench["benchmarks"][0]["states"][0];
  EXPECT_EQ(state["name"], "Device=0 problem=N=4096,T=float");
  EXPECT_EQ(state["summaries"][0]["tag"], "nv/cold/time/gpu/mean");
  EXPECT_EQ(state["summaries"][0]["data"][0]["type"], "float64");
  EXPECT_NEAR(state["summaries"][0]["data"][0]["value"], 1.25e-3, 1e-9);
  EXPECT_GT(state["summaries"][1]["data"][0]["value"], 0);
}

TEST_F(WinnerHistories, HoldResultsOfTheWinnerInFinalsOnly) {
  record("first", "13.0", 1);
  const auto log = store_.begin_run(db::planted_run(db::planted_device("Planted"), "second"));
  log->record("hash", db::planted({{"TILE", std::int64_t{8}}}, 0.9));
  const std::vector<WinnerHistory> found = histories();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].points, SizeIs(1)) << "the second was screened only";
  EXPECT_EQ(found[0].points[0].run_id, "first");
}

}  // namespace
}  // namespace smemtune
