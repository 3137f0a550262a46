#include "db/import.h"

#include "db/database_file.h"
#include "db/export_formats.h"
#include "db/folder_test_support.h"
#include "db/json_forms.h"
#include "db/maintenance.h"
#include "db/recording.h"
#include "db/result_store.h"
#include "db/run_log.h"
#include "db/sqlite.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/planted_recordings_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sqlite3.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace smemtune::db {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

std::string cache_file(const std::string& device, const std::string& entries) {
  return R"({"device_name": ")" + device +
         R"(", "kernel_name": "scale", "problem_size": [4096, 512],
            "tune_params_keys": ["BLOCK"], "tune_params": {"BLOCK": [32, 64]},
            "objective": "time", "cache": {)" +
         entries + "}}";
}

const std::string kFast =
    R"("64": {"BLOCK": 64, "time": 1.5, "times": [1, 1, 2.5],
              "timestamp": "2023-12-22 09:54:05.500000+00:00"})";
const std::string kSlow = R"("32": {"BLOCK": 32, "time": 2, "times": [2, 2, 2]})";
const std::string kFailed = R"("96": {"BLOCK": 96, "time": "CompilationFailedConfig"},
    "128": {"BLOCK": 128, "__error__": "RuntimeFailedConfig"},
    "256": {"BLOCK": 256, "time": "InvalidConfig"})";

class ImportTest : public TestFolder {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    const fs::path file = folder() / name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  Added import(const fs::path& file, const ImportNames& names = {}) {
    Added added;
    read_runs(file, names, Runs::imported,
              [&](RunRecord&& record) { added += store_.add(record); });
    return added;
  }

  ImportedFile import_file(const fs::path& file) {
    return read_runs(file, {}, Runs::imported,
                     [&](RunRecord&& record) { store_.add(std::move(record)); });
  }

  std::string error(const fs::path& file, const ImportNames& names = {}) {
    try {
      import(file, names);
    } catch (const InputError& thrown) {
      return thrown.what();
    }
    return "none";
  }

  std::map<std::string, int> statuses() const {
    std::map<std::string, int> counts;
    for (const StoredResult& one : store_.results({.source = "imported"})) {
      ++counts[to_text(one.result.status)];
    }
    return counts;
  }

  /// Stores a run of ours on an H200.
  static void tune(ResultStore& store, const std::string& id, double ms,
                   const Value& block = std::int64_t{64}) {
    smemtune::Run run;
    run.id = id;
    run.space = "scale";
    run.space_json = "{}";
    run.device = h200_limits();
    run.device.uuid = "GPU-1";
    run.host = "host-1";
    run.started_unix = 1e9;
    const auto log = store.begin_run(run);
    Result result;
    result.kernel = "scale";
    result.problem = {{"problem_size_x", std::int64_t{4096}},
                      {"problem_size_y", std::int64_t{512}}};
    result.configuration = {{"BLOCK", block}};
    result.stage = Stage::final;
    result.is_default = true;
    result.measurement = summarize(std::array{ms, ms, ms});
    log->record("hash", result);
    result.is_default = false;
    result.configuration = {{"BLOCK", std::int64_t{1024}}};
    result.stage = Stage::none;
    result.status = Status::runtime;
    result.reason = "trap";
    log->record("hash", result);
    store.end_run(id, "complete");
  }

  ResultStore store_{folder() / "results.sqlite"};
};

TEST_F(ImportTest, OfAKernelTunerCacheHoldsTimesAndFailuresByKind) {
  const Added added =
      import(write("cache.json", cache_file("GPU A", kFast + "," + kSlow + "," + kFailed)));
  EXPECT_EQ(5u, added.added);
  EXPECT_THAT(statuses(), ElementsAre(Pair("compile", 1), Pair("constraints", 1),
                                      Pair("correct", 2), Pair("runtime", 1)));
  const auto best = store_.best({.source = "imported"}, /*per_kernel=*/true);
  ASSERT_THAT(best, SizeIs(1));
  EXPECT_EQ("GPU A", best[0].device.name);
  EXPECT_EQ("scale", best[0].space);
  EXPECT_EQ("problem_size_x=4096,problem_size_y=512", key(best[0].result.problem));
  EXPECT_EQ("BLOCK=64", key(best[0].result.configuration));
  // Ranked by the median like our own results; the tuner ranked it by the mean.
  EXPECT_EQ(1, best[0].result.measurement.median_ms);
  EXPECT_EQ(1.5, best[0].result.measurement.mean_ms);
  EXPECT_THAT(best[0].result.measurement.samples_ms, ElementsAre(1, 1, 2.5));
  EXPECT_EQ(1703238845.5, best[0].at_unix);
  EXPECT_FALSE(best[0].stale);
  ASSERT_TRUE(best[0].origin);
  EXPECT_EQ("kernel-tuner", best[0].origin->format);
  EXPECT_THAT(best[0].origin->file, HasSubstr("cache.json"));
  EXPECT_EQ("GPU A", best[0].origin->device);
}

TEST_F(ImportTest, TakesATimeThatIsNoneOfItsSamples) {
  ResultStore store(folder() / "store.sqlite");
  const fs::path file = write("cache.json", cache_file("GPU A", R"("32": {"BLOCK": 32,
      "time": 46.3, "times": [43.3, 43.6, 43.6]})"));
  read_runs(file, {}, Runs::imported, [&](RunRecord&& record) { store.add(record); });
  const Measurement measured = store.best({.source = "all"}, true).at(0).result.measurement;
  EXPECT_EQ(43.6, measured.median_ms);
  EXPECT_EQ(43.6, measured.max_ms);
  EXPECT_EQ(46.3, measured.mean_ms);
  EXPECT_THAT(find_faults(folder() / "store.sqlite"), IsEmpty());
}

TEST_F(ImportTest, TwiceAddsNothingAndOfAGrownFileWhatIsNew) {
  const fs::path file = write("cache.json", cache_file("GPU A", kSlow + "," + kFailed));
  EXPECT_EQ(4u, import(file).added);
  const Added again = import(file);
  EXPECT_EQ(0u, again.added + again.conflicting);
  EXPECT_EQ(4u, again.known);
  EXPECT_THAT(store_.runs({.source = "imported"}), SizeIs(1));

  const Added grown =
      import(write("cache.json", cache_file("GPU A", kSlow + "," + kFailed + "," + kFast)));
  EXPECT_EQ(1u, grown.added);
  EXPECT_EQ(4u, grown.known);
  EXPECT_EQ(1, store_.best({.source = "imported"}, true).at(0).result.measurement.median_ms);
  EXPECT_THAT(store_.results({.source = "imported"}), SizeIs(5));
}

TEST_F(ImportTest, SaysWhereTwoFilesDisagreeOfOneMeasurement) {
  import(write("one.json", cache_file("GPU A", kFast)));
  std::string other = kFast;
  other.replace(other.find("1.5"), 3, "1.25");
  const Added added = import(write("two.json", cache_file("GPU A", other)));
  EXPECT_EQ(1u, added.conflicting);
  EXPECT_THAT(store_.results({.source = "imported"}), SizeIs(2));
}

TEST_F(ImportTest, OfTwoFilesThatSayNoMomentTakesBoth) {
  import(write("one.json", cache_file("GPU A", kSlow)));
  const Added added = import(
      write("other.json", cache_file("GPU A", R"("32": {"BLOCK": 32, "time": 3, "times": [3]})")));
  EXPECT_EQ(1u, added.added);
  EXPECT_EQ(0u, added.conflicting);
}

TEST_F(ImportTest, OfWhatWasNotTunedForTimeIsRefused) {
  EXPECT_THAT(
      error(write("score.json", cache_file("CPU", R"("32": {"BLOCK": 32, "score": 3})"))),
      HasSubstr(
          "score.json: entry 1 of \"cache\": a result has neither \"time\" nor \"__error__\""));
  EXPECT_THAT(store_.results({.source = "all"}), IsEmpty());
}

TEST_F(ImportTest, OfT4KnowsWhatTheCacheBrought) {
  import(write("cache.json", cache_file("GPU A", kFast)));
  const fs::path t4 = write("t4.json", R"({"metadata": {"timeunit": "miliseconds"}, "results": [
    {"configuration": {"BLOCK": 64}, "invalidity": "correct", "correctness": 1,
     "times": {"runtimes": [1, 1, 2.5]}, "measurements": [{"name": "time", "value": 1.5}]},
    {"configuration": {"BLOCK": 8}, "invalidity": "timeout", "correctness": 0, "times": {}}]})");
  EXPECT_THAT(error(t4), HasSubstr("t4.json: names no device: --device-name"));
  EXPECT_THAT(error(t4, {.device = "GPU A"}), HasSubstr("names no kernel: --kernel"));
  const Added added = import(t4, {.device = "GPU A", .kernel = "scale"});
  EXPECT_EQ(2u, added.added);  // T4 names no problem, so it counts as a different one.
  EXPECT_EQ(1, statuses()["timeout"]);
  EXPECT_EQ(2u, import(t4, {.device = "GPU A", .kernel = "scale"}).known);
}

TEST_F(ImportTest, NeedsADeviceNameOnlyWhereTheFileHasNone) {
  const fs::path file = write("cache.json", cache_file("", kFast));
  EXPECT_THAT(error(file), HasSubstr("cache.json: names no device"));
  EXPECT_EQ(1u, import(file, {.device = "GPU B"}).added);
  import(write("named.json", cache_file("GPU A", kFast)), {.device = "GPU B"});
  EXPECT_THAT(store_.best({.device = "GPU A", .source = "imported"}, true), SizeIs(1));
}

TEST_F(ImportTest, IsNeverAmongWhatWasMeasuredHere) {
  tune(store_, "run-1", 3);
  ResultStore theirs(folder() / "theirs.sqlite");
  tune(theirs, "run-2", 1);
  EXPECT_EQ(2u, import(folder() / "theirs.sqlite").added);
  const auto own = store_.best({}, true);
  ASSERT_THAT(own, SizeIs(1));
  EXPECT_EQ(3, own[0].result.measurement.median_ms);
  EXPECT_FALSE(own[0].origin);
  EXPECT_THAT(store_.results({}), SizeIs(2));
  EXPECT_THAT(store_.runs({}), SizeIs(1));
  EXPECT_THAT(store_.devices(), SizeIs(1));
  EXPECT_EQ(1, store_.best({.source = "imported"}, true).at(0).result.measurement.median_ms);
  EXPECT_EQ(1, store_.best({.source = "theirs"}, true).at(0).result.measurement.median_ms);
  EXPECT_THAT(store_.best({.source = "elsewhere"}, true), IsEmpty());
  EXPECT_THAT(store_.best({.source = "all"}, true), SizeIs(2));

  smemtune::Run run;
  run.id = "run-3";
  run.space = "scale";
  run.device = h200_limits();
  run.device.uuid = "GPU-1";
  const auto log = store_.begin_run(run);
  const auto known = log->find({.kernel_hash = "hash",
                                .kernel = "scale",
                                .problem = own[0].result.problem,
                                .configuration = own[0].result.configuration});
  ASSERT_TRUE(known);
  EXPECT_EQ(3, known->measurement.median_ms);
}

TEST_F(ImportTest, HasDefaultsOfTheFileThatIsAskedFor) {
  ResultStore theirs(folder() / "theirs.sqlite");
  tune(theirs, "run-2", 1);
  import(folder() / "theirs.sqlite");
  const auto theirs_too = store_.defaults({.source = "imported"});
  EXPECT_THAT(store_.defaults({.source = "theirs"}), testing::ContainerEq(theirs_too));
  EXPECT_THAT(store_.defaults({.source = "elsewhere"}), IsEmpty());
  EXPECT_THAT(store_.defaults({}), IsEmpty());
}

TEST_F(ImportTest, OfAnExportKeepsWhatItsSpaceSaysOfLaunches) {
  ResultStore theirs(folder() / "theirs.sqlite");
  smemtune::Run run;
  run.id = "run-2";
  run.space = "scale";
  run.device = h200_limits();
  run.device.uuid = "GPU-1";
  run.space_json = R"json({"metrics": {"flops": "2 * N"}, "kernels": [{"name": "scale", "launches":
    [{"grid": ["ceil_div(N, BLOCK)", 2, "N"], "block": ["BLOCK", 2]}, {"grid": [1], "block": [64]}]}]})json";
  Result result;
  result.kernel = "scale";
  result.problem = {{"N", std::int64_t{64}}};
  result.configuration = {{"BLOCK", std::int64_t{32}}};
  result.is_default = true;
  result.stage = Stage::screen;
  result.measurement = summarize(std::vector<double>{1.0});
  theirs.begin_run(run)->record("hash", result);
  const std::vector<KernelDefaults> defaults = theirs.defaults({});
  ASSERT_THAT(defaults, SizeIs(1));
  EXPECT_THAT(defaults[0].launches.blocks, ElementsAre("((ceil_div(N, BLOCK)) * (2)) * (N)", "1"));
  EXPECT_THAT(defaults[0].launches.threads, ElementsAre("(BLOCK) * (2)", "64"));
  EXPECT_THAT(defaults[0].launches.metrics, ElementsAre(Pair("flops", "2 * N")));
  import(write("best.json", export_json(theirs.best({}, true), defaults)));
  EXPECT_EQ(defaults, store_.defaults({.source = "imported"}));

  int number = 0;
  for (const char* const threads : {"5", R"({"of": 5})", R"("BLOCK")", "[5.5, {}]", "[]"}) {
    Json json = Json::parse(export_json(theirs.best({}, true), defaults));
    json["defaults"][0]["threads"] = Json::parse(threads);
    ResultStore ours(folder() / (std::to_string(++number) + ".sqlite"));
    read_runs(write("damaged.json", json.dump()), {}, Runs::imported,
              [&](RunRecord&& record) { ours.add(record); });
    const std::vector<KernelDefaults> kept = ours.defaults({.source = "imported"});
    ASSERT_THAT(kept, SizeIs(1)) << threads;
    EXPECT_THAT(kept[0].launches.blocks, SizeIs(2)) << threads;
    EXPECT_THAT(kept[0].launches.threads, IsEmpty()) << threads << " is no list of texts";
  }
}

TEST_F(ImportTest, StaysOneInAnExportThatIsMerged) {
  import(write("cache.json", cache_file("GPU A", kFast)));
  const auto imported = store_.best({.source = "imported"}, true);
  const fs::path file = write("best.json", export_json(imported, {}));
  ResultStore other(folder() / "other.sqlite");
  read_runs(file, {}, Runs::ours, [&](RunRecord&& record) { other.add(record); });
  EXPECT_THAT(other.best({}, true), IsEmpty());
  const auto there = other.best({.source = "imported"}, true);
  ASSERT_THAT(there, SizeIs(1));
  ASSERT_TRUE(there[0].origin);
  EXPECT_EQ(imported[0].origin->file_sha256, there[0].origin->file_sha256);
  EXPECT_EQ("kernel-tuner", there[0].origin->format);
}

/// Covers a result without samples, one with samples, and a failure.
TEST_F(ImportTest, KeepsUnknownWhatNobodyTold) {
  import(write("cache.json",
               cache_file("GPU A", R"("32": {"BLOCK": 32, "time": 2},)" + kFast + "," + kFailed)));
  const auto exported = [](const ResultStore& store) {
    Json results = Json::array();
    for (const StoredResult& one : store.results({.source = "imported"})) {
      results.push_back(stored_json(one));
    }
    return results;
  };
  const Json first = exported(store_);
  ASSERT_EQ(5u, first.size());
  const Json told = first[0];
  EXPECT_EQ(2, told["time"]["mean_ms"]);
  for (const char* unknown : {"median_ms", "median_low_ms", "min_ms", "q1_ms", "samples",
                              "discarded", "throttled", "sm_clock_mhz"}) {
    EXPECT_TRUE(told["time"].at(unknown).is_null()) << unknown;
  }
  EXPECT_EQ(1, first[1]["time"]["median_ms"]);
  EXPECT_EQ(3, first[1]["time"]["samples"]);
  for (const Json& one : first) {
    for (const char* unknown : {"max_absolute_error", "max_relative_error", "compile_ms",
                                "verify_ms", "first_launch_ms", "is_default", "is_reference"}) {
      EXPECT_TRUE(one.at(unknown).is_null()) << unknown;
    }
    EXPECT_TRUE(one["device"]["sm_count"].is_null());
    EXPECT_TRUE(one["device"]["compute_capability"].is_null());
  }

  const fs::path file =
      write("results.json", document_text("smemtune-results", 1, {{"results", first}}));
  ResultStore other(folder() / "other.sqlite");
  read_runs(file, {}, Runs::imported, [&](RunRecord&& record) { other.add(std::move(record)); });
  const Json second = exported(other);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    Json again = second[i];
    again["provenance"] = first[i]["provenance"];
    EXPECT_EQ(first[i].dump(), again.dump());
  }
  EXPECT_THAT(find_faults(folder() / "other.sqlite"), IsEmpty());

  const Json best = Json::parse(export_json(store_.best({.source = "imported"}, true), {}))["best"];
  EXPECT_TRUE(best[0]["verification"]["verified"].is_null());
  EXPECT_TRUE(best[0]["verification"]["max_absolute_error"].is_null());
}

TEST_F(ImportTest, OfOurOwnResultsAddsNothing) {
  tune(store_, "run-1", 3);
  ResultStore copy(folder() / "copy.sqlite");
  copy.add(store_.record_of("run-1"));
  const Added added = import(folder() / "copy.sqlite");
  EXPECT_EQ(0u, added.added);
  EXPECT_EQ(2u, added.known);
}

TEST_F(ImportTest, OfAFileThatSaysItWasARunOfOursStaysOutOfThatRun) {
  tune(store_, "run-1", 3);
  ResultStore theirs(folder() / "theirs.sqlite");
  tune(theirs, "run-1", 0.001);
  import(folder() / "theirs.sqlite");
  EXPECT_EQ(3, store_.best({}, true).at(0).result.measurement.median_ms);
  EXPECT_THAT(store_.record_of("run-1").entries, SizeIs(2));
}

TEST_F(ImportTest, OfAnExportHasWhatItSays) {
  ResultStore theirs(folder() / "theirs.sqlite");
  tune(theirs, "run-2", 1.25);
  const auto best = theirs.best({}, true);
  const fs::path file = write("best.json", export_json(best, theirs.defaults({})));
  EXPECT_EQ(1u, import(file).added);
  EXPECT_EQ(1u, import(file).known);
  StoredResult stored = store_.best({.source = "imported"}, true).at(0);
  ASSERT_TRUE(stored.origin);
  EXPECT_EQ("smemtune-best", stored.origin->format);
  EXPECT_EQ("host-1", stored.host);
  EXPECT_EQ("hash", stored.kernel_hash);
  EXPECT_EQ(best[0].device, stored.device);
  // The export contains no samples.
  stored.result.measurement.samples_ms = best[0].result.measurement.samples_ms;
  EXPECT_EQ(best[0].result, stored.result);

  const Json results = {{"results", {stored_json(theirs.results({}).at(1))}}};
  EXPECT_EQ(1u, import(write("results.json", document_text("smemtune-results", 1, results))).added);
  EXPECT_EQ(1, statuses()["runtime"]);
  EXPECT_THAT(error(write("runs.json", R"({"format": "smemtune-runs", "version": 1,
                                          "results": [{}]})")),
              HasSubstr("smemtune-best and smemtune-results are read"));
}

TEST_F(ImportTest, OfATableOfTimesHasAResultForEach) {
  const std::string times = R"([[0.5, null], [0.25, 2]])";
  const auto file = [&](const std::string& rows) {
    return write("times.json", R"({"format": "smemtune-times", "version": 1, "candidates": [
      {"space": "scale", "kernel": "scale", "unit": "GPU-1", "provenance": {"run": "7", "kernel_hash": "hash"},
       "device": {"kind": "gpu", "name": "GPU A", "architecture": "sm_90"},
       "compared_with": "definition", "measured_utc": "2026-11-30T20:00:00Z",
       "problems": [{"N": 64}, {"N": 128}], "configurations": [{"BLOCK": 32}, {"BLOCK": 64}],
       "mean_ms": )" + rows + "}]}");
  };
  EXPECT_EQ(3u, import(file(times)).added);
  const std::vector<StoredResult> best = store_.best({.source = "imported"}, true);
  ASSERT_THAT(best, SizeIs(2));
  EXPECT_EQ("BLOCK=64", key(best[0].result.configuration));
  EXPECT_EQ("N=128", key(best[0].result.problem));
  EXPECT_EQ(2, best[0].result.measurement.median_ms);
  EXPECT_EQ(ComparedWith::definition, best[0].result.compared_with);
  EXPECT_EQ("hash", best[0].kernel_hash);
  EXPECT_EQ(0.25, best[1].result.measurement.median_ms);
  EXPECT_THAT(error(file("[[0.5]]")), HasSubstr("entry 1 of \"candidates\""));
}

/// A word that reads like a number must not replace the value of a parameter of ours.
TEST_F(ImportTest, DoesNotDecideWhatTheValuesOfOurConfigurationsAre) {
  import(write("cache.json", cache_file("GPU A", R"("64": {"BLOCK": "64", "time": 1})")));
  tune(store_, "run-1", 3);
  EXPECT_EQ(Value{std::int64_t{64}}, store_.best({}, true).at(0).result.configuration.at("BLOCK"));
}

TEST_F(ImportTest, RefusesWhatIsTooDeepOrTooMuch) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(error(write("deep.json", cache_file("GPU A", "\"1\": {\"BLOCK\": " + deep + "}"))),
              HasSubstr("deep.json: entry 1 of \"cache\": nested deeper than 32"));
  EXPECT_THAT(error(write("head.json", "{\"a\": " + deep + "}")),
              HasSubstr("nested deeper than 32"));
  std::string many = R"("1": {"BLOCK": 1, "time": 1, "times": [1)";
  for (int i = 0; i < 1'000'001; ++i) many += ",1";
  EXPECT_THAT(error(write("many.json", cache_file("GPU A", many + "]}"))),
              HasSubstr("more than a million values"));
  EXPECT_THAT(error(write("twice.json", cache_file("GPU A", R"("1": {"BLOCK": 1, "BLOCK": 2})"))),
              HasSubstr("'BLOCK' occurs twice"));
  EXPECT_THAT(error(folder() / "none.json"), HasSubstr("No such file"));
  EXPECT_THAT(store_.results({.source = "all"}), IsEmpty());
}

TEST_F(ImportTest, StoresValuesWithCommas) {
  import(write("comma.json", cache_file("GPU A", R"("1": {"BLOCK": "1,TILE=2", "time": 1},
      "2": {"BLOCK": "1", "time": 2}, "3": {"BLOCK": "N,T", "time": 3})")));
  std::set<std::string> values;
  for (const StoredResult& one : store_.results({.source = "imported"})) {
    values.insert(to_text(one.result.configuration.at("BLOCK")));
  }
  EXPECT_THAT(values, ElementsAre("1", "1,TILE=2", "N,T"));
  EXPECT_THAT(error(write("name.json", R"({"device_name": "GPU A", "kernel_name": "scale",
      "tune_params_keys": ["A,B"], "cache": {"1": {"A,B": 1, "time": 1}}})")),
              HasSubstr("a name with '=' or ',' cannot be stored"));
}

TEST_F(ImportTest, LeavesOutAnEntryThatIsOddAndNamesIt) {
  const std::string entries = kFast + R"(,
      "a": {"time": 1}, "b": {"BLOCK": 1, "score": 2}, "c": [1], "d": {"BLOCK": 7, "BLOCK": 8},
      "e": {"BLOCK": 9, "time": 123456789012345678901234567890}, "f": {"BLOCK": 12, "time": 1e999},
      "g": {"BLOCK": {"x": [{"y": 1e999}, 2]}, "time": 1}, )" +
                              kSlow;
  const ImportedFile read = import_file(write("odd.json", cache_file("GPU A", entries)));
  EXPECT_THAT(statuses()["correct"], testing::Ge(2));  // The first and the last.
  EXPECT_EQ(read.odd.count + store_.results({.source = "imported"}).size(), 9u);
  EXPECT_THAT(read.odd.faults,
              testing::IsSupersetOf({HasSubstr("entry 2 of \"cache\": a result has no \"BLOCK\""),
                                     HasSubstr("entry 3 of \"cache\": a result has neither"),
                                     HasSubstr("entry 4 of \"cache\": is not a result"),
                                     HasSubstr("entry 5 of \"cache\": the name 'BLOCK'")}));
  std::string many = kFast;
  for (int i = 0; i < 50; ++i) many += ",\"" + std::to_string(i) + "\": {}";
  const ImportedFile listed = import_file(write("many.json", cache_file("GPU A", many)));
  EXPECT_EQ(listed.odd.count, 50u);
  EXPECT_THAT(listed.odd.faults, SizeIs(OddEntries::kMostListed));
  EXPECT_THAT(error(write("all.json", cache_file("GPU A", R"("1": {}, "2": {}, "3": {})"))),
              testing::AllOf(HasSubstr("all.json: entry 1 of \"cache\""),
                             HasSubstr("and so 2 other entries")));
  EXPECT_THAT(error(write("empty.json", "")), HasSubstr("empty.json: is empty"));
}

/// Exports one result, applies `change` to its entry and imports it.
class ContradictionTest : public ImportTest {
 protected:
  std::string fault(const std::function<void(Json&)>& change) {
    ResultStore theirs(":memory:");
    tune(theirs, "run-2", 1.25);
    Json document = Json::parse(export_json(theirs.best({}, true), {}));
    Json& list = document["best"];
    list.push_back(list[0]);
    change(list[1]);
    const ImportedFile read = import_file(write("best.json", document.dump()));
    EXPECT_EQ(store_.results({.source = "imported"}).size(), 1u) << "the other entry is a result";
    return read.odd.faults.empty() ? "" : read.odd.faults.front();
  }
};

TEST_F(ContradictionTest, IsRefusedWithItsPlaceAndBothNumbers) {
  const auto time = [](const char* name, const Json& value) {
    return [name, value](Json& entry) { entry["time"][name] = value; };
  };
  EXPECT_EQ(fault(time("median_ms", 1e-9)),
            "entry 2 of \"best\": time.min_ms 1.25 is above time.median_ms 1e-09");
  EXPECT_THAT(fault(time("median_ms", 7)), HasSubstr("time.median_ms 7 is above time.max_ms 1.25"));
  EXPECT_THAT(fault(time("q1_ms", 2)), HasSubstr("time.q1_ms 2 is above time.q3_ms 1.25"));
  EXPECT_THAT(fault(time("q3_ms", 9)), HasSubstr("time.q3_ms 9 is above time.max_ms 1.25"));
  EXPECT_THAT(fault(time("mean_ms", 0.5)), HasSubstr("time.min_ms 1.25 is above time.mean_ms 0.5"));
  EXPECT_THAT(fault(time("median_low_ms", 1.3)), HasSubstr("is above time.median_high_ms 1.25"));
  EXPECT_THAT(fault(time("max_ms", -1)), HasSubstr("time.max_ms -1 is below 0"));
  EXPECT_THAT(fault(time("median_ms", 0)), HasSubstr("time.median_ms 0 is not above 0"));
  EXPECT_THAT(fault(time("median_ms", 1e13)), HasSubstr("time.median_ms 1e+13"));
  EXPECT_THAT(fault(time("discarded", -3)), HasSubstr("time.discarded -3 is below 0"));
  EXPECT_THAT(fault(time("launches_per_sample", 0)), HasSubstr("launches_per_sample"));
  EXPECT_THAT(fault(time("samples", -2)), HasSubstr("time.samples -2"));
  EXPECT_THAT(fault(time("stage", "screen")), HasSubstr("time.stage \"screen\" is not stage"));
  EXPECT_THAT(fault([](Json& entry) { entry["compile_ms"] = -5; }),
              HasSubstr("compile_ms -5 is below 0"));
  EXPECT_THAT(fault([](Json& entry) { entry["reason"] = "mismatch"; }),
              HasSubstr("status correct has the reason 'mismatch'"));
  EXPECT_THAT(fault([](Json& entry) { entry["verification"]["verified"] = false; }),
              HasSubstr("verification.verified false"));
  EXPECT_THAT(fault([](Json& entry) { entry["parameters"]["BLOCK"] = 1; }),
              HasSubstr("is not configuration"));
  EXPECT_THAT(fault([](Json& entry) { entry["status"] = "compile"; }), HasSubstr("entry 2"));
  EXPECT_THAT(fault([](Json& entry) { entry["time"] = "fast"; }), HasSubstr("entry 2"));
  EXPECT_THAT(fault([](Json& entry) { entry.erase("device"); }), HasSubstr("entry 2"));
  EXPECT_EQ(fault([](Json&) {}), "");
}

TEST_F(ContradictionTest, IsNoneInWhatThisProgramWrote) {
  for (const auto& entry : fs::recursive_directory_iterator(SMEMTUNE_SOURCE_DIR "/db/shipped")) {
    if (entry.is_directory()) continue;
    EXPECT_EQ(import_file(entry.path()).odd.count, 0u) << entry.path();
  }
  // A mean outside the quartiles, which occurs in caches, can be exported and imported again.
  import(write("mean.json", cache_file("GPU A", R"("64": {"BLOCK": 64, "time": 30,
      "times": [1, 1, 1, 1, 1, 1, 1, 1, 1, 291],
      "timestamp": "2023-12-22 09:54:05.500000+00:00"})")));
  const fs::path file =
      write("again.json", export_json(store_.best({.device = "GPU A", .source = "all"}, true), {}));
  EXPECT_EQ(import_file(file).odd.count, 0u);
}

/// Covers a database that was damaged, or that an earlier version filled from such an export.
TEST_F(ContradictionTest, OfAnImportIsNoFaultOfTheDatabase) {
  ResultStore theirs(folder() / "theirs.sqlite");
  tune(theirs, "run-2", 1.25);
  import(folder() / "theirs.sqlite");
  const auto spoil = [](const fs::path& file) {
    Connection(file, OpenMode::read_write, 0)
        .execute("UPDATE result SET median_ms = 1e-9 WHERE median_ms IS NOT NULL");
  };
  spoil(folder() / "results.sqlite");
  const DatabaseFaults found = check_database(folder() / "results.sqlite");
  EXPECT_THAT(found.faults, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(testing::AllOf(
                               HasSubstr("theirs.sqlite: 1 result that contradicts itself"),
                               HasSubstr("time.min_ms 1.25 is above time.median_ms 1e-09"))));
  spoil(folder() / "theirs.sqlite");
  EXPECT_THAT(find_faults(folder() / "theirs.sqlite"), SizeIs(1));
  ResultStore other(folder() / "other.sqlite");
  const ImportedFile read = read_runs(folder() / "theirs.sqlite", {}, Runs::ours,
                                      [&](RunRecord&& record) { other.add(std::move(record)); });
  EXPECT_THAT(read.odd.faults, ElementsAre(HasSubstr("result 1 of run run-2: time.min_ms")));
  EXPECT_THAT(other.results({}), SizeIs(1));  // The failure.
}

/// Instructions of SQLite's virtual machine in all finished statements of this process.
std::int64_t all_vm_steps = 0;

int count_vm_steps(unsigned, void*, void* statement, void*) {
  all_vm_steps +=
      sqlite3_stmt_status(static_cast<sqlite3_stmt*>(statement), SQLITE_STMTSTATUS_VM_STEP, 1);
  return 0;
}

int trace_connection(sqlite3* connection, const char**, const void*) {
  return sqlite3_trace_v2(connection, SQLITE_TRACE_PROFILE, count_vm_steps, nullptr);
}

/// During its lifetime, connections count their work when they are opened.
class CountedWork {
 public:
  CountedWork() { sqlite3_auto_extension(hook()); }
  ~CountedWork() { sqlite3_cancel_auto_extension(hook()); }
  CountedWork(const CountedWork&) = delete;
  CountedWork& operator=(const CountedWork&) = delete;

 private:
  static void (*hook())() { return reinterpret_cast<void (*)()>(trace_connection); }
};

/// The work for the results of one configuration grows linearly with their number, not
/// quadratically.
TEST_F(ImportTest, LooksAtEachResultOfAConfigurationOnce) {
  const CountedWork counted;
  const auto steps_of = [&](int count) {
    std::string entries;
    for (int i = 1; i <= count; ++i) {
      entries += (i > 1 ? ",\"" : "\"") + std::to_string(i) +
                 "\": {\"BLOCK\": 64, \"time\": " + std::to_string(i) + "}";
    }
    const std::string name = std::to_string(count);
    const fs::path file = write(name + ".json", cache_file("GPU A", entries));
    ResultStore store(folder() / (name + ".sqlite"));
    const std::int64_t before = all_vm_steps;
    const auto add = [&](RunRecord&& record) { store.add(std::move(record)); };
    read_runs(file, {}, Runs::imported, add);
    EXPECT_THAT(store.results({.source = "imported"}), SizeIs(count));
    read_runs(file, {}, Runs::imported, add);  // All are known already.
    EXPECT_THAT(store.results({.source = "imported"}), SizeIs(count));
    return all_vm_steps - before;
  };
  const std::int64_t few = steps_of(1000);
  EXPECT_GT(few, 1000);
  EXPECT_LT(steps_of(4000), 6 * few);
}

TEST_F(ImportTest, FindsANameThatOccursTwiceAmongManyOfThem) {
  std::string members = "\"BLOCK\": 0";
  for (int i = 0; i < 800'000; ++i) members += ",\"n" + std::to_string(i) + "\":1";
  const std::string twice = "{" + members + ",\"BLOCK\":2}";
  // A linear search for each name would exceed the time limit of a test.
  EXPECT_THAT(error(write("top.json", twice)), HasSubstr("'BLOCK' occurs twice"));
  EXPECT_THAT(error(write("head.json", "{\"Metadata\": " + twice + "}")),
              HasSubstr("'BLOCK' occurs twice"));
  EXPECT_THAT(error(write("entry.json", cache_file("GPU A", "\"1\": " + twice))),
              HasSubstr("'BLOCK' occurs twice"));
}

TEST_F(ImportTest, ReadsNothingOfAFileThatIsTooLarge) {
  for (const char* start : {"{}", "SQLite format 3"}) {
    const fs::path file = write("large.json", start);
    fs::resize_file(file, std::uintmax_t{1} << 40);  // Reading it would take minutes.
    EXPECT_THROW(import(file), Error) << start;
  }
}

TEST_F(ImportTest, SaysWhereAFileIsBroken) {
  const std::string broken = kSlow + ",\n" + kFailed + ",\n\"8\" {\"BLOCK\": 8}, " + kFast;
  EXPECT_THAT(error(write("broken.json", cache_file("GPU A", broken))),
              HasSubstr("broken.json: line 7: "));
  EXPECT_THAT(error(write("words.json", "no JSON at all")), HasSubstr("neither a Kernel Tuner"));
  EXPECT_THAT(error(write("list.json", "[1, 2]")), HasSubstr("neither a Kernel Tuner"));
  EXPECT_THAT(error(write("more.json", cache_file("GPU A", kFast) + " {}")),
              HasSubstr("text after the end"));
  EXPECT_THAT(store_.results({.source = "all"}), IsEmpty());
}

/// Python's JSON allows NaN and Infinity, which are not times.
TEST_F(ImportTest, OfNumbersThatAreNoneKnowsThatItFailed) {
  import(write("cache.json", cache_file("GPU A", R"("1": {"BLOCK": 1, "time": NaN, "x": Infinity},
      "2": {"BLOCK": 2, "time": -Infinity}, "3": {"BLOCK": 3, "time": 1e20},
      "4": {"BLOCK": 4, "times": [NaN, 2, 3], "time": 2.5})")));
  EXPECT_THAT(statuses(), ElementsAre(Pair("correct", 1), Pair("runtime", 3)));
}

/// Caches from programs that turn numbers into strings, or single numbers into lists.
TEST_F(ImportTest, OfTimesInOtherFormsTakesTheTimes) {
  import(write("cache.json", cache_file("GPU A", R"("1": {"BLOCK": 1, "time": "2.5"},
      "2": {"BLOCK": 2, "time": [3, 4]}, "3": {"BLOCK": 3, "time": 1.5, "__error__": null},
      "4": {"BLOCK": 4, "time": 1.75, "__error__": ""}, "5": {"BLOCK": 5, "time": "1e20"},
      "6": {"BLOCK": 6, "time": []}, "7": {"BLOCK": 7, "time": 1, "__error__": "InvalidConfig"},
      "8": {"BLOCK": 8, "time": "2.5 ms"}, "9": {"BLOCK": 9, "time": "nan"},
      "10": {"BLOCK": 10, "time": "3", "times": ["2.5", "3.5"]}, "11": {"BLOCK": 11.0, "time": 6},
      "12": {"BLOCK": true, "time": null}, "13": {"BLOCK": 13, "__error__": null})")));
  std::map<std::string, double> times;
  for (const StoredResult& one : store_.results({.source = "imported"})) {
    times[key(one.result.configuration)] = one.result.time_ms().value_or(0);
  }
  EXPECT_THAT(times, ElementsAre(Pair("BLOCK=1", 0), Pair("BLOCK=10", 3), Pair("BLOCK=11", 6),
                                 Pair("BLOCK=13", 0), Pair("BLOCK=2", 3.5), Pair("BLOCK=3", 1.5),
                                 Pair("BLOCK=4", 1.75), Pair("BLOCK=5", 0), Pair("BLOCK=6", 0),
                                 Pair("BLOCK=7", 0), Pair("BLOCK=8", 0), Pair("BLOCK=9", 0)));
  EXPECT_THAT(statuses(),
              ElementsAre(Pair("constraints", 1), Pair("correct", 6), Pair("runtime", 6)));
}

/// Python writes null for unknown values, and programs on Windows begin a file with a byte order
/// mark.
TEST_F(ImportTest, OfACacheThatKnowsNoDeviceAndListsNoValuesTakesTheRest) {
  const fs::path file = write("cache.json",
                              "\xEF\xBB\xBF"
                              R"({"device_name": null,
      "kernel_name": null, "problem_size": 4096, "tune_params_keys": ["BLOCK"],
      "tune_params": null, "cache": {"1": {"BLOCK": 1, "time": 2}}})");
  EXPECT_THAT(error(file), HasSubstr("names no device: --device-name"));
  EXPECT_THAT(error(file, {.device = "GPU A"}), HasSubstr("names no kernel: --kernel"));
  EXPECT_EQ(1u, import(file, {.device = "GPU A", .kernel = "scale"}).added);
}

/// Holds for any name of the measured time, and for the failure words of either tuner.
TEST_F(ImportTest, OfT4FindsTheTimeByItsUnitAndTheFailureByItsWord) {
  const fs::path file = write("t4.json", R"({"results": [
      {"configuration": {"BLOCK": 1}, "objectives": ["kernel_us"], "times": {},
       "invalidity": "correct", "measurements": [{"name": "power", "value": 9, "unit": "W"},
       {"name": "kernel_us", "value": "2500", "unit": "us"}]},
      {"configuration": {"BLOCK": 2}, "times": {}, "invalidity": "correct", "measurements": [
       {"name": "compiling", "value": 9, "unit": "s"}, {"name": "time", "value": [3, 4], "unit": ""}]},
      {"configuration": {"BLOCK": 3}, "times": {}, "invalidity": "CompilationFailedConfig"},
      {"configuration": {"BLOCK": 4}, "times": {}, "invalidity": "runtime",
       "measurements": [{"name": "time", "value": "RuntimeFailedConfig", "unit": ""}]}],
      "metadata": {"timeunit": null}})");
  import(file, {.device = "GPU A", .kernel = "scale"});
  EXPECT_THAT(statuses(), ElementsAre(Pair("compile", 1), Pair("correct", 2), Pair("runtime", 1)));
  EXPECT_EQ(2.5, store_.best({.source = "imported"}, true).at(0).result.measurement.median_ms);
  EXPECT_EQ(3.5, store_.results({.source = "imported"}).at(1).result.measurement.median_ms);
}

/// In a file sorted by name, the members needed to read the entries come after them.
TEST_F(ImportTest, OfAFileInAnyOrderIsTheSame) {
  const std::string sorted = R"({"cache": {)" + kFast + R"(}, "device_name": "GPU A",
      "kernel_name": "scale", "problem_size": [4096, 512], "tune_params": {"BLOCK": [32, 64]},
      "tune_params_keys": ["BLOCK"]})";
  import(write("cache.json", cache_file("GPU A", kFast)));
  EXPECT_EQ(1u, import(write("sorted.json", sorted)).known);
  const fs::path t4 = write("t4.json", R"({"results": [{"times": {"runtimes": [2000]},
      "invalidity": "correct", "configuration": {"BLOCK": 8}}],
      "metadata": {"timeunit": "microseconds"}})");
  import(t4, {.device = "GPU B", .kernel = "scale"});
  EXPECT_EQ(2, store_.best({.device = "GPU B", .source = "imported"}, true)
                   .at(0)
                   .result.measurement.median_ms);
}

/// KTT gives the unit beside the time, and none for the whole file.
TEST_F(ImportTest, OfKttsT4HasItsUnitOfTime) {
  const fs::path file = write("ktt.json", R"({"schema_version": "1.0.0", "results": [{
      "configuration": {"BLOCK": 8}, "objectives": ["TotalDuration"], "invalidity": "correct",
      "times": {"compilation_time": 5000, "runtimes": [96, 98], "validation": 9}, "measurements": [
        {"name": "TotalDuration", "value": 97, "unit": "Microseconds"},
        {"name": "time", "value": "none", "unit": ""}, {"name": "power", "value": 3, "unit": "W"}]}]})");
  import(file, {.device = "GPU A", .kernel = "scale"});
  const Result result = store_.best({.source = "imported"}, true).at(0).result;
  EXPECT_DOUBLE_EQ(0.097, result.measurement.median_ms);
  EXPECT_DOUBLE_EQ(0.098, result.measurement.max_ms);
  EXPECT_DOUBLE_EQ(5, result.compile_ms);
}

/// The output of KTT 2.2, and that of 2.0, which has `IsDouble` and no compile time.
TEST_F(ImportTest, OfKttsOutputHoldsTimesAndFailuresByKind) {
  const auto result = [](const std::string& status, int block, const std::string& more) {
    return R"({"KernelName": "scale", "Status": ")" + status + R"(", "Configuration": [
        {"Name": "BLOCK", "Value": )" +
           std::to_string(block) + R"(, "ValueType": "UnsignedInt"},
        {"IsDouble": false, "Value": 0.5, "Name": "SHARE"}], "ComputationResults": [
        {"Duration": 3, "KernelFunction": "scale", "ProfilingData": {"Counters": [{"Value": 1}]}}])" +
           more + "}";
  };
  const std::string metadata = R"({"Device": "GPU A", "KttVersion": "2.2.0", "TimeUnit":
      "Microseconds", "Timestamp": "2024-08-12 11:26:23 UTC"})";
  const std::string results =
      result("Ok", 8,
             R"(, "TotalDuration": 97.5, "CompilationOverhead": 5000, "ValidationOverhead": 9)") +
      "," + result("Ok", 8, R"(, "TotalDuration": 96, "ExtraOverhead": 1)") + "," +
      result("CompilationFailed", 16, "") + "," + result("DeviceLimitsExceeded", 32, "") + "," +
      result("ComputationFailed", 64, "") + "," + result("ValidationFailed", 128, "") + "," +
      result("Ok", 256, R"(, "TotalDuration": 0)");
  const auto document = [](const std::string& head, const std::string& list) {
    return R"({"Metadata": )" + head + R"(, "Results": [)" + list + R"(], "UserData": {"M": "8"}})";
  };
  const fs::path file = write("ktt.json", document(metadata, results));
  const Added added = import(file);
  EXPECT_EQ(7u, added.added);
  EXPECT_EQ(0u, added.conflicting);
  EXPECT_THAT(statuses(),
              ElementsAre(Pair("compile", 1), Pair("constraints", 1), Pair("correct", 2),
                          Pair("correctness", 1), Pair("runtime", 2)));
  EXPECT_EQ(7u, import(file).known);
  const StoredResult best = store_.best({.source = "imported"}, true).at(0);
  EXPECT_DOUBLE_EQ(0.096, best.result.measurement.median_ms);
  EXPECT_EQ("BLOCK=8,SHARE=0.5", key(best.result.configuration));
  EXPECT_EQ("GPU A", best.device.name);
  EXPECT_EQ("scale", best.space);
  EXPECT_EQ(1723461983, best.at_unix);
  EXPECT_EQ("ktt", best.origin->format);
  EXPECT_EQ("KTT 2.2.0", best.origin->tool);
  EXPECT_DOUBLE_EQ(5, store_.results({.source = "imported"}).at(0).result.compile_ms);

  const auto refusal = [&](const std::string& head, const std::string& list) {
    return error(write("wrong.json", document(head, list)));
  };
  EXPECT_THAT(refusal("{}", results), HasSubstr("wrong.json: \"TimeUnit\" is ''; milliseconds"));
  EXPECT_THAT(refusal(R"({"TimeUnit": "Seconds"})", results), HasSubstr("--device-name"));
  EXPECT_THAT(refusal(metadata, result("Broken", 8, "")),
              HasSubstr("\"Status\" is 'Broken'; Ok, "));
  EXPECT_THAT(refusal(metadata, R"({"Status": "Ok"})"), HasSubstr("without a \"Configuration\""));
  EXPECT_THAT(refusal(metadata, R"({"Configuration": [{"Name": "A"}]})"),
              HasSubstr("without a \"Name\" and a \"Value\""));
  const std::string one_lacks = results + R"(, {"KernelName": "scale", "Configuration": []})";
  const ImportedFile read = read_runs(write("odd.json", document(metadata, one_lacks)), {},
                                      Runs::imported, [](RunRecord&&) {});
  EXPECT_THAT(read.odd.faults, ElementsAre(HasSubstr("a result has no \"BLOCK\"")));
  EXPECT_THAT(refusal(metadata, results + R"(, {"KernelName": "add", "Configuration": [
                        {"Name": "BLOCK", "Value": 1}, {"Name": "SHARE", "Value": 1}]})"),
              HasSubstr("the kernels 'scale' and 'add'"));
}

/// There are more results than are passed on at a time; they form one run, which is stored in one
/// transaction.
TEST_F(ImportTest, OfALongFileIsOneRun) {
  std::string entries = R"("0": {"BLOCK": 0, "time": 1, "timestamp": "2023-12-22 00:00:00"})";
  for (int i = 1; i < 10'000; ++i) {
    const std::string block = std::to_string(i);
    entries += ",\"" + block + R"(": {"BLOCK": )" + block + R"(, "time": 2,
        "timestamp": ")" +
               (i == 9'000 ? "2022" : "2024") + R"(-12-22 00:00:00"})";
  }
  std::vector<RunRecord> parts;
  read_runs(write("cache.json", cache_file("GPU A", entries)), {}, Runs::imported,
            [&](RunRecord&& part) { parts.push_back(std::move(part)); });
  ASSERT_GT(parts.size(), 1u);
  std::size_t next = 0;
  EXPECT_THROW(store_.add(parts[0], [](RunRecord&) { throw InputError("broken"); }), InputError);
  EXPECT_THAT(store_.results({.source = "all"}), IsEmpty());
  const Added added = store_.add(parts[0], [&](RunRecord& part) { part = parts[++next]; });
  EXPECT_EQ(10'000u, added.added);
  const auto runs = store_.runs({.source = "imported"});
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(10'000u, runs[0].results);
  EXPECT_EQ("complete", runs[0].outcome);
  EXPECT_EQ(1671667200, runs[0].started_unix);
  EXPECT_EQ(1, store_.best({.source = "imported"}, true).at(0).result.measurement.median_ms);
}

TEST_F(ImportTest, OfHostileNamesIsData) {
  const std::string name = "'); DROP TABLE result;--\\u001b[2J<script>%s%n";
  EXPECT_EQ(1u, import(write("cache.json", cache_file(name, kFast))).added);
  const auto best = store_.best({.source = "imported"}, true);
  ASSERT_THAT(best, SizeIs(1));
  EXPECT_EQ("'); DROP TABLE result;--\x1b[2J<script>%s%n", best[0].device.name);
  EXPECT_EQ(1u, import(write("cache.json", cache_file(name, kFast))).known);
}

/// Returns where a document violates T4's results-schema 1.0.0 or the expectation of Kernel Tuner,
/// which reads only the document's unit of time.
std::vector<std::string> breaks_of_t4(const Json& root) {
  std::vector<std::string> breaks;
  const auto expect = [&](bool holds, const std::string& what) {
    if (!holds) breaks.push_back(what);
  };
  const auto is = [](const Json& object, const char* name, auto check) {
    return !object.contains(name) || check(object[name]);
  };
  const auto is_text = [](const Json& json) { return json.is_string(); };
  const auto is_number = [](const Json& json) { return json.is_number(); };
  const auto is_list = [](const Json& json) { return json.is_array(); };
  expect(root.is_object() && root.value("results", Json()).is_array(), "results");
  expect(is(root, "schema_version",
            [](const Json& json) {
              return json.is_string() &&
                     std::regex_match(json.get<std::string>(), std::regex("[0-9]+.[0-9]+.[0-9]+"));
            }),
         "schema_version");
  const std::string unit = root.value("metadata", Json::object()).value("timeunit", "");
  expect(unit == "milliseconds" || unit == "miliseconds", "timeunit");
  const std::set<std::string> words = {"timeout",     "compile",     "runtime",
                                       "correctness", "constraints", "correct"};
  for (const Json& result : root.value("results", Json::array())) {
    expect(result.value("configuration", Json()).is_object(), "configuration");
    expect(result.value("correctness", Json()).is_number(), "correctness");
    expect(words.contains(result.value("invalidity", "")), "invalidity");
    expect(is(result, "timestamp", is_text), "timestamp");
    expect(is(result, "objectives", is_list), "objectives");
    const Json times = result.value("times", Json());
    expect(times.is_object(), "times");
    for (const char* name : {"compilation_time", "framework", "search_algorithm", "validation"}) {
      expect(is(times, name, is_number), name);
    }
    expect(is(times, "runtimes", is_list), "runtimes");
    for (const Json& measured : result.value("measurements", Json::array())) {
      expect(measured.is_object() && is(measured, "name", is_text) && is(measured, "unit", is_text),
             "measurements");
      expect(is(measured, "value",
                [](const Json& json) {
                  return json.is_number() || json.is_string() || json.is_array();
                }),
             "value");
    }
  }
  return breaks;
}

/// Returns what `write` writes of the newest results.
std::string newest_as(void (*write)(const EachResult&, const TextSink&), const ResultReader& store,
                      const std::string& source) {
  std::string text;
  write([&](const auto& take) { store.each_newest({.source = source}, take); },
        [&](std::string_view part) { text += part; });
  return text;
}

TEST_F(ImportTest, OfT4KeepsToItsSchemaAndItsUnits) {
  import(write("cache.json", cache_file("GPU A", kFast + "," + kSlow + "," + kFailed)));
  tune(store_, "run-1", 0.5);
  for (const char* source : {"imported", "own"}) {
    const std::vector<StoredResult> all = store_.results({.source = source});
    const Json t4 = Json::parse(newest_as(export_t4, store_, source));
    EXPECT_THAT(breaks_of_t4(t4), IsEmpty()) << source;
    for (const Json& result : t4["results"]) {
      const bool is_correct = result["invalidity"] == "correct";
      EXPECT_EQ(is_correct ? 1 : 0, result["correctness"]);
      EXPECT_EQ(is_correct, result["times"].contains("runtimes"));
      EXPECT_EQ("ms", result["measurements"][0]["unit"]);
    }
    const std::string device = std::string("of ") + source;
    import(write("t4.json", t4.dump()), {.device = device, .kernel = "scale"});
    const auto back = store_.results({.device = device, .source = "imported"});
    ASSERT_EQ(all.size(), back.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i].result.status, back[i].result.status);
      EXPECT_EQ(all[i].result.measurement.median_ms, back[i].result.measurement.median_ms);
    }
  }
  const fs::path shared =
      fs::path(SMEMTUNE_SOURCE_DIR) / "../shared/data/convolution/A100_T4.json.gz";
  if (fs::exists(shared)) {
    EXPECT_THAT(breaks_of_t4(Json::parse(read_compressed(shared).text)), IsEmpty());
  }
  EXPECT_THAT(breaks_of_t4({{"schema_version", "1"}, {"results", {{{"invalidity", "no"}}}}}),
              ElementsAre("schema_version", "timeunit", "configuration", "correctness",
                          "invalidity", "times"));
}

TEST_F(ImportTest, OfWhatWasExportedForOtherTunersKnowsAll) {
  import(write("cache.json", cache_file("GPU A", kFast + "," + kSlow + "," + kFailed)));
  const std::string cache = newest_as(export_kernel_tuner, store_, "imported");
  EXPECT_TRUE(cache.ends_with("}\n}"));
  EXPECT_EQ(5u, import(write("again.json", cache)).known);
  // Cut off where Kernel Tuner would have been killed.
  EXPECT_EQ(4u, import(write("cut.json", cache.substr(0, cache.rfind("\n\"") + 9))).known);
  const Json t4 = Json::parse(newest_as(export_t4, store_, "imported"));
  EXPECT_EQ(5u, t4["results"].size());
  EXPECT_EQ("correct", t4["results"][0]["invalidity"]);
  EXPECT_EQ("compile", t4["results"][2]["invalidity"]);
  EXPECT_EQ(5u, import(write("t4.json", t4.dump()), {.device = "GPU B", .kernel = "scale"}).added);
  EXPECT_THAT(store_.one_of_each_kernel({.source = "imported"}), SizeIs(2));
}

/// Returns a cache with this many results, which occur in no other `file`.
std::string long_cache(int file, int results) {
  std::string entries;
  for (int i = 0; i < results; ++i) {
    const std::string block = std::to_string(1000 * file + i);
    entries += (i == 0 ? "\"" : ",\"") + block + "\": {\"BLOCK\": " + block +
               ", \"time\": " + std::to_string(1 + (i * 7919) % results) + "}";
  }
  return cache_file("GPU A", entries);
}

/// Returns the file's run, in parts with this many results.
std::vector<RunRecord> parts_of(const fs::path& file, std::size_t results) {
  std::vector<RunRecord> parts;
  read_runs(file, {}, Runs::imported, [&](RunRecord&& record) {
    const std::vector<RunRecord::Entry> all = std::move(record.entries);
    for (std::size_t i = 0; i < all.size(); i += results) {
      RunRecord& part = parts.emplace_back(record);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i);
      part.entries.assign(begin, begin + static_cast<std::ptrdiff_t>(results));
      part.goes_on = i + results < all.size();
    }
  });
  return parts;
}

/// The file is too long for one transaction: another process writes between two transactions, and
/// an error leaves what was stored before.
TEST_F(ImportTest, OfAVeryLongFileLetsOthersWriteInBetween) {
  const std::vector<RunRecord> parts = parts_of(write("cache.json", long_cache(1, 200)), 50);
  ASSERT_THAT(parts, SizeIs(4));
  const AddLimits limits = {.results = 100, .pause = std::chrono::milliseconds(0)};
  std::size_t next = 0;
  const auto break_off = [&](RunRecord& part) {
    if (++next == 3) throw InputError("broken");
    part = parts[next];
    if (next != 2) return;
    ResultStore other(folder() / "results.sqlite", ResultStore::Mode::read_write_create, 0);
    EXPECT_EQ(100u, other.runs({.source = "imported"}).at(0).results);
    tune(other, "ours", 3);
  };
  EXPECT_THROW(store_.add(parts[0], break_off, limits), InputError);
  EXPECT_EQ("", store_.runs({.source = "imported"}).at(0).outcome);

  next = 0;
  const Added rest = store_.add(
      parts[0], [&](RunRecord& part) { part = parts[++next]; }, limits);
  EXPECT_EQ(100u, rest.known);
  EXPECT_EQ(100u, rest.added);
  const StoredRun run = store_.runs({.source = "imported"}).at(0);
  EXPECT_EQ(200u, run.results);
  EXPECT_EQ(200u, run.correct);
  EXPECT_EQ("complete", run.outcome);
  EXPECT_THAT(find_faults(folder() / "results.sqlite"), IsEmpty());
}

/// The callback for the next part is called when the previous part has been stored.
TEST_F(ImportTest, OfAVeryLongFileLosesNoPartThatWasStoredWhenItsProcessIsKilled) {
  constexpr int kMoments = 50;
  constexpr std::size_t kPart = 20;
  constexpr std::size_t kResults = 400;
  const std::vector<RunRecord> parts =
      parts_of(write("cache.json", long_cache(1, kResults)), kPart);
  const AddLimits limits = {.results = 1, .pause = std::chrono::milliseconds(0)};
  std::mt19937_64 random(18);
  for (int moment = 0; moment < kMoments; ++moment) {
    const fs::path database = folder() / ("killed-" + std::to_string(moment) + ".sqlite");
    int channel[2];
    ASSERT_EQ(pipe(channel), 0);
    const pid_t child = fork();
    if (child == 0) {
      ResultStore store(database);
      std::size_t next = 0;
      store.add(
          parts[0],
          [&](RunRecord& part) {
            part = parts[++next];
            if (::write(channel[1], &next, sizeof next) != sizeof next) _exit(1);
          },
          limits);
      _exit(0);
    }
    close(channel[1]);
    std::size_t stored = 0;  // Number of parts that are known to be stored.
    const std::size_t wanted = 1 + random() % (parts.size() - 1);
    while (stored < wanted && read(channel[0], &stored, sizeof stored) > 0) {
    }
    usleep(static_cast<useconds_t>(random() % 5'000));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    while (read(channel[0], &stored, sizeof stored) > 0) {
    }
    close(channel[0]);

    ASSERT_GE(stored, wanted);
    EXPECT_THAT(find_faults(database), IsEmpty()) << moment;
    ResultStore store(database);
    const std::uint64_t found = store.runs({.source = "imported"}).at(0).results;
    EXPECT_GE(found, stored * kPart) << moment;
    std::size_t next = 0;
    const Added again = store.add(parts[0], [&](RunRecord& part) { part = parts[++next]; });
    EXPECT_EQ(found, again.known) << moment;
    EXPECT_EQ(kResults, again.known + again.added) << moment;
    EXPECT_EQ("complete", store.runs({.source = "imported"}).at(0).outcome);
    EXPECT_EQ(1, store.best({.source = "imported"}, true).at(0).result.measurement.median_ms);
    EXPECT_THAT(find_faults(database), IsEmpty()) << moment;
  }
}

/// Imports files of other tuners, merges databases of ours, and reports each completed file to
/// `channel`.
void take_in(const fs::path& database, const std::vector<fs::path>& files, int channel) {
  ResultStore store(database);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const bool ours = files[i].extension() == ".sqlite";
    read_runs(files[i], {}, ours ? Runs::ours : Runs::imported,
              [&](RunRecord&& record) { store.add(record); });
    if (channel >= 0 && ::write(channel, &i, sizeof i) != sizeof i) _exit(1);
  }
}

TEST_F(ImportTest, AndMergingLoseNothingAcknowledgedWhenTheirProcessIsKilled) {
  constexpr int kMoments = 50;
  constexpr int kResults = 40;
  std::vector<fs::path> files;
  for (int i = 0; i < 6; ++i) {
    if (i % 2 == 0) {
      files.push_back(write("cache-" + std::to_string(i), long_cache(i, kResults)));
      continue;
    }
    files.push_back(folder() / ("ours-" + std::to_string(i) + ".sqlite"));
    ResultStore ours(files.back());
    const std::string text = long_cache(i, kResults);
    read_runs(write("source", text), {}, Runs::imported, [&](RunRecord&& record) {
      record.origin.reset();
      record.run.device.uuid = "GPU-1";
      ours.add(record);
    });
  }
  const fs::path database = folder() / "killed.sqlite";
  std::mt19937_64 random(17);
  for (int moment = 0; moment < kMoments; ++moment) {
    if (moment % 5 == 0) fs::remove(database);
    int channel[2];
    ASSERT_EQ(pipe(channel), 0);
    const pid_t child = fork();
    if (child == 0) {
      take_in(database, files, channel[1]);
      _exit(0);
    }
    close(channel[1]);
    std::size_t acknowledged = 0;
    std::size_t file = 0;
    const auto wanted = random() % files.size();
    while (acknowledged < wanted && read(channel[0], &file, sizeof file) > 0) ++acknowledged;
    usleep(static_cast<useconds_t>(random() % 20'000));  // A random moment in the next transaction.
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    while (read(channel[0], &file, sizeof file) > 0) ++acknowledged;
    close(channel[0]);

    if (!fs::exists(database) || acknowledged == 0) continue;
    EXPECT_THAT(find_faults(database), IsEmpty()) << moment;
    ResultStore store(database);
    for (std::size_t i = 0; i < acknowledged; ++i) {
      Added again;
      read_runs(files[i], {}, i % 2 == 0 ? Runs::imported : Runs::ours,
                [&](RunRecord&& record) { again += store.add(record); });
      EXPECT_EQ(static_cast<std::uint64_t>(kResults), again.known) << moment << ": " << files[i];
    }
  }
  take_in(database, files, -1);
  EXPECT_THAT(find_faults(database), IsEmpty());
  EXPECT_THAT(ResultStore(database).results({.source = "all"}), SizeIs(6 * kResults));
}

/// Share of its optimum, in per cent, that the first GPU reaches with the best of the second.
using Shares = std::map<std::pair<std::string, std::string>, long>;

/// Expects the stored results to be those in the files of six GPUs, each result once.
Shares expect_stored_as_they_are(const std::vector<fs::path>& files) {
  ResultStore store(":memory:");
  std::map<std::string, double> fastest_ms;
  std::map<std::string, std::map<std::string, int>> expected;
  for (const fs::path& file : files) {
    const Json root = Json::parse(read_compressed(file).text);
    const std::string device = root["device_name"] == "" ? "AMD MI250X" : root["device_name"];
    double& best_ms = fastest_ms[device];
    for (const Json& entry : root["cache"]) {
      const Json& time = entry["time"];
      if (!time.is_string()) {
        const double median_ms = median(entry["times"].get<std::vector<double>>());
        if (best_ms == 0 || median_ms < best_ms) best_ms = median_ms;
        ++expected[device]["correct"];
      } else {
        ++expected[device][time == "CompilationFailedConfig" ? "compile" : "runtime"];
      }
    }
    Added added;
    for (int i = 0; i < 2; ++i) {
      read_runs(file, {.device = "AMD MI250X"}, Runs::imported,
                [&](RunRecord&& record) { added += store.add(record); });
    }
    EXPECT_EQ(root["cache"].size(), added.added);
    EXPECT_EQ(root["cache"].size(), added.known);
  }
  std::map<std::string, std::map<std::string, int>> found;
  std::map<std::string, std::map<Configuration, double>> times;
  for (const StoredResult& one : store.results({.source = "imported"})) {
    ++found[one.device.name][to_text(one.result.status)];
    if (one.result.timed()) {
      times[one.device.name][one.result.configuration] = one.result.measurement.median_ms;
    }
  }
  EXPECT_EQ(expected, found);
  std::map<std::string, Configuration> best;
  for (const StoredResult& one : store.best({.source = "imported"}, true)) {
    EXPECT_EQ(fastest_ms[one.device.name], one.result.measurement.median_ms) << one.device.name;
    best[one.device.name] = one.result.configuration;
  }
  EXPECT_EQ(6u, best.size());
  Shares shares;
  for (const auto& [on, its_times] : times) {
    for (const auto& [from, configuration] : best) {
      const auto time = its_times.find(configuration);
      if (time == its_times.end()) continue;
      shares[{from, on}] = std::lround(100 * fastest_ms[on] / time->second);
    }
  }
  return shares;
}

TEST(SharedFilesOfSixGpus, AreImportedAsTheyAre) {
  const fs::path shared = fs::path(SMEMTUNE_SOURCE_DIR) / "../shared/data/convolution";
  if (!fs::exists(shared)) {
    ASSERT_EQ(nullptr, std::getenv("SMEMTUNE_REQUIRE_SHARED")) << shared << " is missing";
    GTEST_SKIP() << shared << " is missing";
  }
  std::vector<fs::path> files;
  for (const char* name : {"A100", "A4000", "A6000", "MI250X", "W6600", "W7800"}) {
    files.push_back(shared / (std::string(name) + ".json.gz"));
  }
  const Shares shares = expect_stored_as_they_are(files);
  EXPECT_EQ(63, shares.at({"NVIDIA A100-PCIE-40GB", "NVIDIA RTX A4000"}));
  EXPECT_EQ(53, shares.at({"NVIDIA A100-PCIE-40GB", "NVIDIA RTX A6000"}));
  EXPECT_EQ(67, shares.at({"NVIDIA RTX A4000", "NVIDIA A100-PCIE-40GB"}));
  EXPECT_EQ(67, shares.at({"NVIDIA RTX A6000", "NVIDIA A100-PCIE-40GB"}));
}

TEST(PlantedFilesOfSixGpus, AreImportedAsTheyAre) {
  const TemporaryFolder folder;
  write_planted_recordings(folder.path());
  std::vector<fs::path> files;
  for (const PlantedGpu& gpu : kPlantedGpus) files.push_back(folder.path() / (gpu.file + ".json"));
  const Shares shares = expect_stored_as_they_are(files);
  const PlantedGpu& one = kPlantedGpus[0];
  const PlantedGpu& three = kPlantedGpus[2];
  const auto least_ms = [](const PlantedGpu& gpu) {
    std::pair<double, PlantedPoint> least = {HUGE_VAL, {}};
    for (const PlantedPoint& point : planted_points()) {
      if (point.failure().empty() && point.ms(gpu) < least.first) least = {point.ms(gpu), point};
    }
    return least;
  };
  EXPECT_EQ(std::lround(100 * least_ms(three).first / least_ms(one).second.ms(three)),
            shares.at({one.name, three.name}));
}

}  // namespace
}  // namespace smemtune::db
