#include "db/export_formats.h"
#include "db/result_store.h"
#include "smemtune/smemtune.h"
#include "tuner/core/error.h"
#include "tuner/core/temporary_folder.h"
#include "tuner/core/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace smemtune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr Target kH200 = {"NVIDIA H200", 90};

Value number(std::int64_t value) { return value; }
Problem size(std::int64_t n, const char* type = "float") { return {{"N", number(n)}, {"T", type}}; }
Configuration threads(std::int64_t n) { return {{"ITEMS", number(2)}, {"THREADS", number(n)}}; }

class Library : public testing::Test {
 protected:
  Library() {
    fill(folder_ / "r.sqlite");
    const db::ResultStore store(folder_ / "r.sqlite", db::ResultStore::Mode::read_only);
    write_whole_file(
        folder_ / "best.json",
        db::export_json(store.best({}, true), store.defaults({}), store.candidates({})));
  }

  static Device gpu() {
    Device device;
    device.name = "NVIDIA H200";
    device.uuid = "GPU-1";
    device.architecture = "sm_90";
    device.compute_major = 9;
    return device;
  }

  static void fill(const fs::path& file) {
    db::ResultStore store(file);
    smemtune::Run run;
    run.id = "1";
    run.space = "scale";
    run.device = gpu();
    run.space_json = R"({"kernels": [{"name": "scale", "constraints":
      ["N % 8 == 0 || THREADS <= 128", "N > 3"]}]})";
    const auto log = store.begin_run(run);
    const auto add = [&](std::int64_t n, std::int64_t count, double ms, bool is_default) {
      Result result;
      result.kernel = "scale";
      result.problem = size(n);
      result.configuration = threads(count);
      result.stage = Stage::screen;
      result.is_default = is_default;
      result.measurement = summarize(std::vector<double>{ms});
      log->record("hash", result);
    };
    add(4096, 128, 1.0, false);
    add(4096, 256, 2.0, true);
    add(512, 64, 0.25, false);
    for (const auto& [n, ms] : {std::pair(65536, 4.0), {262144, 16.0}}) {
      add(n, 512, n == 65536 ? ms : ms * 3, false);
      add(n, 1024, n == 65536 ? ms * 3 : ms, false);
      add(n, 256, ms * 2, true);
    }
  }

  fs::path write(const std::string& text) const {
    std::ofstream(folder_ / "written.json") << text;
    return folder_ / "written.json";
  }

  std::string refusal(const std::string& text) const {
    try {
      Results results(write(text));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "none";
  }

  TemporaryFolder own_folder_;
  fs::path folder_ = own_folder_.path();
};

TEST_F(Library, DatabaseAndExportSelectTheSame) {
  for (const char* file : {"r.sqlite", "best.json"}) {
    const Results results(folder_ / file);
    const Selection exact = results.select(kH200, "scale", size(4096));
    EXPECT_EQ(exact.match, Match::exact);
    EXPECT_EQ(exact.parameters, threads(128));
    EXPECT_EQ(exact.time_ms, 1.0);
    EXPECT_EQ(exact.kernel_hash, "hash");
    const Selection nearest = results.select(kH200, "scale", size(1024), "scale");
    EXPECT_EQ(nearest.match, Match::nearest_problem);
    EXPECT_EQ(nearest.size_ratio, 2);
    EXPECT_EQ(nearest.measured_problem, size(512));
    EXPECT_THAT(nearest.text(),
                HasSubstr("nearest problem: N=512,T=float on NVIDIA H200, size ratio 2"));
    EXPECT_EQ(results.select({"NVIDIA H100", 90}, "scale", size(4096)).match,
              Match::same_architecture);
    const Selection defaults = results.select({"NVIDIA A100", 80}, "scale", size(4096));
    EXPECT_EQ(defaults.match, Match::defaults);
    EXPECT_EQ(defaults.parameters, threads(256));
    const Selection of_other_type = results.select(kH200, "scale", size(4096, "double"));
    EXPECT_EQ(of_other_type.match, Match::nearest_problem);
    EXPECT_EQ(of_other_type.measured_problem, size(4096));
    EXPECT_EQ(of_other_type.size_ratio, 12);
    EXPECT_EQ(results.select(kH200, "scale", size(4096, "row")).match, Match::defaults);
    EXPECT_EQ(results.select(kH200, "other", size(4096)).match, Match::none);
    EXPECT_EQ(results.select(kH200, "scale", size(4096), "other").match, Match::none);
  }
}

TEST_F(Library, SelectsWhatIsPredictedToBeTheFastest) {
  for (const char* file : {"r.sqlite", "best.json"}) {
    const Results results(folder_ / file);
    EXPECT_EQ(results.select(kH200, "scale", size(65536)).parameters, threads(512)) << file;
    EXPECT_EQ(results.select(kH200, "scale", size(72000)).parameters, threads(512));
    EXPECT_EQ(results.select(kH200, "scale", size(240000)).parameters, threads(1024));
    EXPECT_EQ(results.select(kH200, "scale", size(262144)).parameters, threads(1024));
    EXPECT_EQ(results.select(kH200, "scale", size(5000)).parameters, threads(128));
  }
}

TEST_F(Library, GivesUpDefaultValuesForWhatIsClearlyFasterOnly) {
  for (const auto& [ms, expected] : {std::pair(0.98, 256), {0.9, 128}}) {
    const fs::path file = folder_ / ("defaults" + std::to_string(expected) + ".sqlite");
    db::ResultStore store(file);
    smemtune::Run run;
    run.id = "1";
    run.space = "scale";
    run.device = gpu();
    const auto log = store.begin_run(run);
    for (std::int64_t n = 4096; n <= 65536; n *= 2) {
      for (const std::int64_t count : {128, 256}) {
        Result result;
        result.kernel = "scale";
        result.problem = size(n);
        result.configuration = threads(count);
        result.stage = Stage::screen;
        result.is_default = count == 256;
        result.measurement = summarize(std::vector<double>{count == 256 ? 1.0 : ms});
        log->record("hash", result);
      }
    }
    const Results results(file);
    EXPECT_EQ(results.select(kH200, "scale", size(10'000)).parameters, threads(expected));
    EXPECT_EQ(results.select(kH200, "scale", size(4096)).parameters, threads(128)) << "measured";
  }
}

TEST_F(Library, SelectsOnlyWhatSatisfiesTheConstraintsOfTheRun) {
  for (const char* file : {"r.sqlite", "best.json"}) {
    const Results results(folder_ / file);
    const Selection odd = results.select(kH200, "scale", size(65537));
    EXPECT_EQ(odd.match, Match::nearest_problem) << file;
    EXPECT_EQ(odd.parameters, threads(128)) << "512 is the best at 65536";
    EXPECT_EQ(results.select(kH200, "scale", size(3)).match, Match::none)
        << "neither is right nor the default values";
  }
}

TEST_F(Library, LooksIntoSharedFilesForWhatItsOwnDoNotKnow) {
  fs::create_directory(folder_ / "team");
  fs::copy(folder_ / "best.json", folder_ / "team" / "team.json");
  const fs::path old = fs::path(SMEMTUNE_SOURCE_DIR) / "db" / "best_version_1.json";
  EXPECT_EQ(Results(old).select(kH200, "scale", size(4096)).match, Match::none);
  setenv("SMEMTUNE_SHARED_DB", (folder_ / "team").c_str(), 1);
  const Results results(old);
  const Results own(folder_ / "r.sqlite");
  unsetenv("SMEMTUNE_SHARED_DB");
  const Selection shared = results.select(kH200, "scale", size(4096));
  EXPECT_EQ(shared.match, Match::exact);
  EXPECT_EQ(shared.shared_from, (folder_ / "team" / "team.json").string());
  EXPECT_THAT(shared.text(), HasSubstr("(exact, from " + shared.shared_from + ")"));
  EXPECT_EQ(results.select(kH200, "gemm", size(4096)).shared_from, "");
  EXPECT_EQ(own.select(kH200, "scale", size(4096)).shared_from, "") << "as close, and one's own";
  EXPECT_EQ(Results(folder_ / "team").select(kH200, "scale", size(4096)).match, Match::exact);
}

/// Times of 64, 128 and 1,024 threads that depend on whether the waves of blocks are full, at many
/// sizes, as a file of times; `rows`: instead of theirs.
std::string times_of_waves(const std::string& rows = "") {
  std::string problems;
  std::array<std::string, 3> times;
  const std::array<int, 3> counts = {64, 128, 1024};
  for (int n = 20'000; n < 400'000; n += 1'871) {
    if (!problems.empty()) problems += ",";
    problems += R"({"T":"float","N":)" + std::to_string(n) + "}";
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const int waves = (n + counts[i] * 100 - 1) / (counts[i] * 100);
      times[i] += (times[i].empty() ? "" : ",") + std::to_string(waves * counts[i]);
    }
  }
  return R"json({"format": "smemtune-times", "version": 1, "defaults": [{"space": "scale",
    "kernel": "scale", "configuration": {"ITEMS": 2, "THREADS": 256},
    "blocks": ["ceil_div(N, THREADS)"], "metrics": {"bytes": "8 * N"}}],
    "candidates": [{"space": "scale", "kernel": "scale", "unit": "GPU-1",
    "device": {"kind": "gpu", "name": "NVIDIA H200", "architecture": "sm_90",
               "compute_capability": "9.0", "sm_count": 100},
    "provenance": {"run": "7", "kernel_hash": "hash"}, "compared_with": "definition",
    "measured_utc": "2026-11-30T20:00:00Z", "configurations": [{"ITEMS": 2, "THREADS": 64},
    {"ITEMS": 2, "THREADS": 128}, {"ITEMS": 2, "THREADS": 1024}], "problems": [)json" +
         problems + R"json(], "mean_ms": [)json" +
         (rows.empty() ? "[" + times[0] + "],[" + times[1] + "],[" + times[2] + "]" : rows) +
         "]}]}";
}

TEST_F(Library, PredictsBySizesWaveForWave) {
  const Results results(write(times_of_waves()));
  int right = 0;
  int count = 0;
  for (int n = 21'000; n < 390'000; n += 9'973, ++count) {
    const auto ms = [n](int threads) {
      return (n + threads * 100 - 1) / (threads * 100) * threads;
    };
    const Selection selection = results.select(kH200, "scale", size(n));
    EXPECT_EQ(selection.match, Match::nearest_problem);
    EXPECT_EQ(selection.compared_with, "definition");
    const auto chosen =
        static_cast<int>(std::get<std::int64_t>(selection.parameters.at("THREADS")));
    right += ms(chosen) <= 1.05 * std::min({ms(64), ms(128), ms(1024)}) ? 1 : 0;
  }
  EXPECT_GT(right, count * 9 / 10);
}

TEST_F(Library, AddsTimesToWhatAFolderKnows) {
  fs::create_directories(folder_ / "all" / "times");
  fs::copy(folder_ / "best.json", folder_ / "all");
  fs::copy(write(times_of_waves()), folder_ / "all" / "times");
  const Results results(folder_ / "all");
  EXPECT_EQ(results.select(kH200, "scale", size(65536)).parameters, threads(512))
      << "the best there";
  EXPECT_EQ(results.select(kH200, "scale", size(21'000)).measured_problem, size(20'000));
}

TEST_F(Library, RefusesTablesOfTimesThatAreNotWhole) {
  for (const auto& [rows, place] : {std::pair("[1],[2],[3]", "/mean_ms/0 has not a time"),
                                    {"1, 2, 3", "/mean_ms/0 has not a time"}}) {
    const Results results(write(times_of_waves(rows)));
    EXPECT_THAT([&] { results.select(kH200, "scale", size(1)); },
                testing::ThrowsMessage<std::runtime_error>(HasSubstr(place)));
  }
}

TEST_F(Library, ReadsWhatTheFirstVersionExported) {
  const Results results(fs::path(SMEMTUNE_SOURCE_DIR) / "db" / "best_version_1.json");
  const Selection exact = results.select(kH200, "gemm", size(4096));
  EXPECT_EQ(exact.match, Match::exact);
  EXPECT_EQ(exact.parameters, (Configuration{{"LAYOUT", "row"}, {"TILE", number(32)}}));
  EXPECT_EQ(exact.time_ms, 2.0);
  EXPECT_EQ(results.select({"NVIDIA A100", 80}, "gemm", size(4096)).parameters,
            (Configuration{{"LAYOUT", "row"}, {"TILE", number(16)}}));
}

TEST_F(Library, PlansForTheProblemThatWasAskedFor) {
  const Results results(folder_ / "best.json");
  const fs::path space = fs::path(SMEMTUNE_SOURCE_DIR) / "examples" / "scale.json";
  const KernelPlaces places = {.share = SMEMTUNE_SOURCE_DIR, .cache = {}};
  const Selection nearest = results.select(kH200, "scale", size(1000));
  const KernelPlan plan = plan_kernel(space, nearest, kH200, places);
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.launches[0].entry, "scale<float, 64, 2>");
  EXPECT_EQ(plan.launches[0].grid[0], 8);
  EXPECT_EQ(plan.launches[0].block[0], 64);
  EXPECT_EQ(plan.launches[0].shared_carveout, -1);
  EXPECT_FALSE(plan.launches[0].programmatic);
  EXPECT_TRUE(plan.edited) << "its hash is not that of the source";
  ASSERT_EQ(plan.buffers.size(), 2u);
  EXPECT_EQ(plan.buffers[0].bytes, 4000);
  EXPECT_THROW(plan_kernel(space, results.select(kH200, "other", size(1)), kH200, places),
               std::runtime_error);
  Selection impossible = nearest;
  impossible.parameters = {{"ITEMS", number(8)}, {"THREADS", number(512)}};
  EXPECT_THROW(plan_kernel(space, impossible, kH200, places), std::runtime_error);
}

TEST_F(Library, RefusesWhatIsNoExport) {
  EXPECT_THROW(Results(folder_ / "missing.json"), std::runtime_error);
  EXPECT_THAT(refusal("{"), HasSubstr("written.json"));
  EXPECT_THAT(refusal("{}"), HasSubstr("/format is missing"));
  EXPECT_THAT(refusal(R"({"format": "T4"})"), HasSubstr("/format"));
  EXPECT_THAT(refusal(R"({"format": "smemtune-best", "version": 2, "best": []})"),
              HasSubstr("/version"));
  EXPECT_THAT(refusal(R"({"format": "smemtune-best", "version": 2, "best": [{}]})"),
              HasSubstr("/version"));
  EXPECT_THAT(refusal(R"({"format": "smemtune-best", "version": 1, "best": [{}]})"),
              HasSubstr("/best/0"));
  for (const char* best : {"5", "null", "{}", R"({"a": {"space": "s"}})"}) {
    EXPECT_THAT(
        refusal(R"({"format": "smemtune-best", "version": 1, "best": )" + std::string(best) + "}"),
        HasSubstr("/best is not an array"));
  }
  EXPECT_THAT(refusal(R"({"format": "smemtune-best", "version": 1, "best": [], "candidates": {}})"),
              HasSubstr("/candidates is not an array"));
  EXPECT_THAT(refusal(R"({"format": "smemtune-best", "version": 1, "best": [],
                          "defaults": [{"space": "s", "kernel": "k", "parameters": {"A": 1.5}}]})"),
              HasSubstr("/defaults/0/parameters/A"));
}

}  // namespace
}  // namespace smemtune
