#include "db/export_json.h"

#include "db/device_model.h"
#include "db/test_folder.h"
#include "tuner/core/h200.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
  return stored;
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

KernelDefaults some_defaults() {
  return {.space = "gemm",
          .kernel = "tiled",
          .configuration = {{"LAYOUT", "row"}, {"TILE", std::int64_t{16}}}};
}

/// Whether everything in `former` is in `now` with the same value.
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

// What was written when version 1 was new: its readers find all of it in what is written now.
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

TEST(ExportJson, MarksTheCpuDevice) {
  StoredResult stored = stored_result();
  stored.device.kind = DeviceKind::cpu;
  stored.device.limits_of = "NVIDIA H200";
  const json device = json::parse(export_json({stored}, {})).at("best").at(0).at("device");
  EXPECT_EQ(device.at("kind"), "cpu");
  EXPECT_EQ(device.at("limits_of"), "NVIDIA H200");
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

class WriteWholeFile : public TestFolder {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder()), fs::directory_iterator()));
  }
};

TEST_F(WriteWholeFile, MakesOrReplacesAFile) {
  const fs::path file = folder() / "best.json";
  const mode_t before = umask(022);
  write_whole_file(file, "one");
  umask(before);
  EXPECT_EQ(contents(file), "one");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0644));
  fs::permissions(file, fs::perms(0640));
  write_whole_file(file, "two");
  EXPECT_EQ(contents(file), "two");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640));
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteWholeFile, HeedsTheUmask) {
  const mode_t before = umask(077);
  write_whole_file(folder() / "best.json", "text");
  umask(before);
  EXPECT_EQ(fs::status(folder() / "best.json").permissions(), fs::perms(0600));
}

TEST_F(WriteWholeFile, KeepsALinkAndWritesWhereItLeads) {
  fs::create_directory(folder() / "results");
  std::ofstream(folder() / "results" / "target") << "old";
  fs::create_symlink("results/target", folder() / "link");
  fs::create_symlink(folder() / "link", folder() / "second");
  write_whole_file(folder() / "second", "new");
  EXPECT_TRUE(fs::is_symlink(folder() / "second"));
  EXPECT_TRUE(fs::is_symlink(folder() / "link"));
  EXPECT_EQ(contents(folder() / "results" / "target"), "new");

  fs::remove(folder() / "results" / "target");
  check_writable(folder() / "link");
  write_whole_file(folder() / "link", "first");
  EXPECT_TRUE(fs::is_symlink(folder() / "link"));
  EXPECT_EQ(contents(folder() / "results" / "target"), "first");
  EXPECT_EQ(files(), 3u) << "no temporary is left";
}

TEST_F(WriteWholeFile, RefusesLinksThatLeadNowhere) {
  fs::create_symlink("loop", folder() / "loop");
  EXPECT_THROW(write_whole_file(folder() / "loop", "text"), InputError);
  fs::create_symlink("missing/best.json", folder() / "link");
  EXPECT_THROW(write_whole_file(folder() / "link", "text"), InputError);
  EXPECT_THROW(check_writable(folder() / "link"), InputError);
  EXPECT_EQ(files(), 2u);
}

TEST_F(WriteWholeFile, RefusesWhatIsNoFile) {
  EXPECT_THROW(write_whole_file(folder(), "text"), InputError);
  EXPECT_THROW(write_whole_file(folder() / "missing" / "best.json", "text"), InputError);
  ASSERT_EQ(mkfifo((folder() / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(write_whole_file(folder() / "pipe", "text"), InputError);
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteWholeFile, LeavesTheOldFileWhenThereIsNoRoom) {
  const fs::path file = folder() / "best.json";
  write_whole_file(file, "old");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    try {
      write_whole_file(file, std::string(5000, 'x'));
    } catch (const InputError&) {
      _exit(2);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(WriteWholeFile, WritesToStandardOutputForADash) {
  testing::internal::CaptureStdout();
  write_whole_file("-", "text\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "text\n");
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace smemtune::db
