#include "db/export_formats.h"
#include "db/folder_test_support.h"
#include "db/json_forms.h"
#include "db/rows.h"
#include "tuner/core/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace smemtune::db {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

StoredResult stored_result() {
  StoredResult stored;
  stored.space = "gemm";
  stored.kernel_hash = "4e7a";
  stored.run_id = "00112233445566778899aabbccddeeff";
  stored.compiler = "NVRTC 13.0";
  stored.tool_version = "0.1.0";
  stored.host = "host-1";
  stored.at_unix = 1795269787.25;

  Device& device = stored.device;
  device = h200_limits();
  device.uuid = "GPU-1";
  device.memory_bus_bits = 6144;
  device.ecc = true;
  device.driver_version = "13.0";
  device.runtime_version = "12.9";

  Result& result = stored.result;
  result.kernel = "tiled";
  result.problem = {{"N", std::int64_t{4096}}, {"T", "float"}};
  result.configuration = {{"LAYOUT", "row"}, {"TILE", std::int64_t{32}}};
  result.stage = Stage::final;
  result.measurement.samples_ms = {1.5, 2, 2.5};
  result.measurement.launches_per_sample = 8;
  result.measurement.discarded = 1;
  result.measurement.throttled = true;
  result.measurement.median_ms = 2;
  result.measurement.min_ms = 1.5;
  result.measurement.max_ms = 2.5;
  result.measurement.mean_ms = 2;
  result.measurement.q1_ms = 1.75;
  result.measurement.q3_ms = 2.25;
  result.measurement.median_low_ms = 1.5;
  result.measurement.median_high_ms = 2.5;
  result.measurement.sm_clock_mhz = 1980;
  result.metrics = {{"bytes", 4e9}, {"flops", 1e12}, {"loads", 5}};
  LaunchResult launch;
  launch.shape.name_expression = "gemm_tiled<float, 32>";
  launch.shape.grid = {128, 128, 1};
  launch.shape.block = {32, 32, 1};
  launch.shape.dynamic_shared_bytes = 1024;
  launch.shape.arguments = {"a", "b", "c"};
  launch.resources.registers_per_thread = 40;
  launch.resources.static_shared_bytes = 8192;
  launch.resources.barriers = 1;
  launch.occupancy = {.blocks_per_sm = 1,
                      .warps_per_sm = 32,
                      .percent = 50,
                      .blocks_by_threads = 2,
                      .blocks_by_registers = 1,
                      .blocks_by_shared = 20,
                      .blocks_by_limit = 32};
  result.launches = {launch};
  result.max_absolute_error = 1e-5;
  result.max_relative_error = 2e-6;
  result.compile_ms = 432.5;
  result.cubin_sha256 = "c0de";
  result.compared_with = ComparedWith::definition;
  result.compared = {{.problem = result.problem,
                      .output = "c",
                      .with = ComparedWith::definition,
                      .compared = 3050,
                      .elements_total = 16777216}};
  return stored;
}

KernelDefaults some_defaults() {
  return {.space = "gemm",
          .kernel = "tiled",
          .configuration = {{"LAYOUT", "row"}, {"TILE", std::int64_t{16}}}};
}

/// Expects everything in `former` to be in `now` with the same value.
void expect_has(const json& now, const json& former, const std::string& at) {
  if (former.is_object()) {
    for (const auto& [name, value] : former.items()) {
      ASSERT_TRUE(now.contains(name)) << at << "/" << name;
      expect_has(now[name], value, at + "/" + name);
    }
  } else if (former.is_array()) {
    ASSERT_EQ(now.size(), former.size()) << at;
    for (std::size_t i = 0; i < former.size(); ++i) {
      expect_has(now[i], former[i], at + "/" + std::to_string(i));
    }
  } else {
    EXPECT_EQ(now, former) << at;
  }
}

// The file was written when version 1 was new: its readers find everything in it in today's output.
TEST(ExportJson, HasAllThatReadersOfItsFirstVersionKnow) {
  const StoredResult stored = stored_result();
  json former = json::parse(contents(fs::path(SMEMTUNE_SOURCE_DIR) / "db/best_version_1.json"));
  former["best"][0]["device"]["model"] = device_model_key(stored.device);
  expect_has(json::parse(export_json({stored}, {some_defaults()})), former, "");
}

TEST(ExportJson, EscapesWhatSteersATerminal) {
  StoredResult stored = stored_result();
  stored.host =
      "a\u202eb\xc2\x9b"
      "c\x1b\x7f";
  const std::string text = export_json({stored}, {});
  EXPECT_THAT(text, HasSubstr("a\\u202eb\\u009bc\\u001b\\u007f"));
  EXPECT_EQ(json::parse(text)["best"][0]["provenance"]["host"], stored.host);
}

TEST(ExportJson, IsADocumentWithoutResultsToo) {
  EXPECT_EQ(
      export_json({}, {}),
      "{\n  \"format\": \"smemtune-best\",\n  \"version\": 1,\n  \"best\": [],\n  \"defaults\": "
      "[]\n}\n");
}

TEST(ListDocument, IsTheTextOfTheWholeInPieces) {
  const std::vector<StoredResult> all = {stored_result(), stored_result(), stored_result()};
  for (std::size_t count = 0; count <= all.size(); ++count) {
    ListDocument document;
    std::string text = document.begin("smemtune-results", 1, "results");
    Json list = Json::array();
    for (std::size_t i = 0; i < count; ++i) {
      list.push_back(stored_json(all[i]));
      text += document.next(list.back());
    }
    EXPECT_EQ(document_text("smemtune-results", 1, {{"results", list}}), text + document.end());
  }
}

TEST(ExportJson, DoesNotDependOnTheOrder) {
  std::vector<StoredResult> results(5, stored_result());
  results[1].space = "another";
  results[2].result.problem["N"] = std::int64_t{512};
  results[3].device.name = "NVIDIA A100";
  results[4].result.measurement.median_ms = 1;
  const std::string text = export_json(results, {});
  std::reverse(results.begin(), results.end());
  EXPECT_EQ(export_json(results, {}), text);
  const json best = json::parse(text).at("best");
  ASSERT_EQ(best.size(), 5u);
  EXPECT_EQ(best[0].at("space"), "another");
  EXPECT_EQ(best[1].at("device").at("name"), "NVIDIA A100");
  EXPECT_EQ(best[2].at("time").at("median_ms"), 1.0);
}

TEST(ExportJson, WritesOnceWhatCandidatesOfARunHaveInCommon) {
  const StoredResult best = stored_result();
  StoredResult slower = best;
  slower.result.configuration["TILE"] = std::int64_t{16};
  slower.result.measurement.median_ms = 2.25;
  slower.at_unix += 1;
  StoredResult failed = slower;
  failed.result.configuration["TILE"] = std::int64_t{64};
  failed.result.status = Status::runtime;
  failed.result.stage = Stage::none;
  failed.result.reason = "too many registers";
  StoredResult elsewhere = slower;
  elsewhere.device.name = "NVIDIA H100";
  const json document = json::parse(export_json({best}, {}, {slower, failed, elsewhere}));
  std::map<std::string, std::size_t> counts;
  std::vector<StoredResult> read;
  for (const json& group : document["candidates"]) {
    EXPECT_FALSE(group["provenance"].contains("measured_utc"));
    counts[group["device"]["name"]] += group["results"].size();
    for (const Json& entry : entries_of(Json::parse(group.dump()))) {
      read.push_back(stored_from(entry));
    }
  }
  EXPECT_EQ(counts, (std::map<std::string, std::size_t>{{"NVIDIA H100", 1}, {"NVIDIA H200", 2}}));
  ASSERT_EQ(read.size(), 3u);
  for (const StoredResult& one : read) {
    const bool is_failed = one.result.status == Status::runtime;
    EXPECT_EQ(one.result.configuration, (is_failed ? failed : slower).result.configuration);
    EXPECT_EQ(one.result.reason, is_failed ? failed.result.reason : "");
    EXPECT_EQ(one.result.timed() ? one.result.measurement.median_ms : 0, is_failed ? 0 : 2.25);
    EXPECT_EQ(one.result.problem, slower.result.problem);
    EXPECT_EQ(one.result.metrics, slower.result.metrics);
    EXPECT_NEAR(one.at_unix, slower.at_unix, 1);
    EXPECT_EQ(one.kernel_hash, slower.kernel_hash);
    EXPECT_EQ(one.run_id, slower.run_id);
  }
}

TEST(ExportJson, LeavesOutWhatWasNotVerifiedAndTimed) {
  StoredResult failed = stored_result();
  failed.result.status = Status::correctness;
  StoredResult untimed = stored_result();
  untimed.result.stage = Stage::none;
  EXPECT_EQ(export_json({failed, untimed}, {}), export_json({}, {}));
}

TEST(ExportJson, HasNullForWhatIsNoNumber) {
  StoredResult stored = stored_result();
  stored.result.max_relative_error = std::numeric_limits<double>::infinity();
  stored.result.measurement.q1_ms = std::nan("");
  stored.result.metrics["flops"] = std::nan("");
  stored.at_unix = 1e300;
  const json entry = json::parse(export_json({stored}, {})).at("best").at(0);
  EXPECT_TRUE(entry.at("verification").at("max_relative_error").is_null());
  EXPECT_TRUE(entry.at("time").at("q1_ms").is_null());
  EXPECT_TRUE(entry.at("metrics").at("flops").is_null());
  EXPECT_TRUE(entry.at("throughput").at("gflop_per_s").is_null());
  EXPECT_TRUE(entry.at("provenance").at("measured_utc").is_null());
}

TEST(ExportJson, ReplacesWhatIsNoUtf8) {
  StoredResult stored = stored_result();
  stored.host = "caf\xe9";
  const json entry = json::parse(export_json({stored}, {})).at("best").at(0);
  EXPECT_EQ(entry.at("provenance").at("host"), "caf\xef\xbf\xbd");
}

TEST(ExportJson, SaysWhatWasComparedAndIsReadBack) {
  const StoredResult stored = stored_result();
  const json entry = json::parse(export_json({stored}, {})).at("best").at(0);
  EXPECT_EQ(entry.at("compared_with"), "definition (sampled)");
  EXPECT_EQ(entry.at("compared").at(0).at("compared"), 3050);
  const Result read = result_from(result_json(stored.result));
  EXPECT_EQ(read.compared, stored.result.compared);
  EXPECT_EQ(read.compared_with, ComparedWith::definition);
}

TEST(ExportJson, SaysOfWhichOutputOnlyTheSumWasComparedAndIsReadBack) {
  Result result = stored_result().result;
  EXPECT_FALSE(result_json(result).at("compared").at(0).contains("only_sum"));
  result.compared.front().only_sum = true;
  const json entry = result_json(result);
  EXPECT_EQ(entry.at("compared").at(0).at("only_sum"), true);
  EXPECT_EQ(result_from(entry).compared, result.compared);
}

TEST(ExportJson, SaysOfWhatWasStoredBeforeThatItsWordIsOfTheOldRule) {
  Result old = stored_result().result;
  old.compared.clear();
  json entry = result_json(old);
  EXPECT_EQ(entry.at("compared_with"), "definition (by the old rule)");
  EXPECT_EQ(to_text(result_from(entry).coverage()), "definition (by the old rule)");
  // The form in files of that time.
  entry.erase("compared");
  entry["compared_with"] = "definition";
  EXPECT_EQ(to_text(result_from(entry).coverage()), "definition (by the old rule)");
}

TEST(ExportJson, MarksTheCpuDevice) {
  StoredResult stored = stored_result();
  stored.device.kind = DeviceKind::cpu;
  stored.device.limits_of = "NVIDIA H200";
  const json device = json::parse(export_json({stored}, {})).at("best").at(0).at("device");
  EXPECT_EQ(device.at("kind"), "cpu");
  EXPECT_EQ(device.at("limits_of"), "NVIDIA H200");
}

TEST(ExportTimes, HasATableForResultsThatHaveAllElseInCommon) {
  std::vector<StoredResult> candidates;
  for (const auto& [n, tile, ms] : {std::tuple(64, 16, 3.0), {64, 32, 2.0}, {128, 32, 4.0}}) {
    StoredResult& one = candidates.emplace_back(stored_result());
    one.result.problem["N"] = std::int64_t{n};
    one.result.configuration["TILE"] = std::int64_t{tile};
    one.result.measurement = summarize(std::vector<double>{ms});
  }
  candidates.push_back(candidates.front());
  candidates.back().device.uuid = "GPU-2";
  candidates.push_back(candidates.front());
  candidates.back().result.status = Status::runtime;
  const json document = json::parse(export_times({}, {some_defaults()}, candidates));
  EXPECT_EQ("smemtune-times", document["format"]);
  EXPECT_EQ("tiled", document["defaults"][0]["kernel"]);
  ASSERT_EQ(2U, document["candidates"].size());
  const json& table = document["candidates"][0];
  EXPECT_EQ("gemm", table["space"]);
  ASSERT_EQ(2U, table["problems"].size());
  ASSERT_EQ(2U, table["configurations"].size());
  std::map<std::pair<int, int>, json> times;
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      times[{table["problems"][j]["N"], table["configurations"][i]["TILE"]}] =
          table["mean_ms"][i][j];
    }
  }
  EXPECT_EQ(3, (times[{64, 16}]));
  EXPECT_EQ(2, (times[{64, 32}]));
  EXPECT_EQ(4, (times[{128, 32}]));
  EXPECT_TRUE((times[{128, 16}].is_null()));
}

TEST(ExportMd, ShowsEveryMember) {
  const std::string documentation = contents(fs::path(SMEMTUNE_SOURCE_DIR) / "db" / "EXPORT.md");
  const std::set<std::string> of_the_space = {"N", "T", "TILE", "LAYOUT", "loads"};
  const json document = json::parse(export_json({stored_result()}, {some_defaults()}));
  std::vector<json> levels = {document};
  while (!levels.empty()) {
    const json level = levels.back();
    levels.pop_back();
    if (level.is_array() && !level.empty()) levels.push_back(level.at(0));
    if (!level.is_object()) continue;
    for (const auto& [name, value] : level.items()) {
      if (of_the_space.count(name) > 0) continue;
      EXPECT_THAT(documentation, HasSubstr("`" + name + "`"));
      levels.push_back(value);
    }
  }
}

}  // namespace
}  // namespace smemtune::db
