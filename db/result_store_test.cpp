#include "db/result_store.h"

#include "db/bests.h"
#include "db/columns.h"
#include "db/database_file.h"
#include "db/folder_test_support.h"
#include "db/plain_model_test_support.h"
#include "db/planted_results_test_support.h"
#include "db/process_name.h"
#include "db/result_sql.h"
#include "db/rows.h"
#include "db/run_log.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/repetitions_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smemtune::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Device h200() {
  Device device = h200_limits();
  device.uuid = "GPU-00000000-0000-0000-0000-000000000001";
  device.memory_bus_bits = 6144;
  device.memory_clock_khz = 3201000;
  device.sm_clock_khz = 1980000;
  device.ecc = true;
  device.driver_version = "13.0";
  device.runtime_version = "13.0";
  return device;
}

Device other_gpu() {
  Device device = h200();
  device.name = "NVIDIA A100-SXM4-80GB";
  device.uuid = "GPU-00000000-0000-0000-0000-00000000000a";
  device.architecture = "sm_80";
  device.compute_major = 8;
  device.sm_count = 108;
  return device;
}

Device cpu() {
  Device device = h200();
  device.kind = DeviceKind::cpu;
  device.name = "Some CPU";
  device.uuid = "";
  device.architecture = "host";
  device.limits_of = "NVIDIA H200";
  return device;
}

Run run_on(const Device& device, const std::string& id, const std::string& space = "gemm") {
  Run run;
  run.id = id;
  run.space = space;
  run.space_sha256 = "5a";
  run.space_json = "{}";
  run.device = device;
  run.compiler = "NVRTC 13.0";
  run.compiler_sha256 = "c0";
  run.tool_version = "0.1.0";
  run.host = "host-1";
  run.strategy = "random";
  run.seed = std::numeric_limits<std::uint64_t>::max();
  run.command_line = {"smemtune", "--space", "gemm.json"};
  run.started_unix = 1e9;
  return run;
}

const Problem kProblem = {{"N", std::int64_t{4096}}, {"T", "float"}};
const std::string kHash = "hash-1";

/// Number of random histories in the test of the best.
constexpr int kInterleavings = repetitions(2000);

Result failed(const Configuration& configuration, Status status, const std::string& reason) {
  Result result;
  result.kernel = "tiled";
  result.problem = kProblem;
  result.configuration = configuration;
  result.status = status;
  result.reason = reason;
  result.detail = "what the log said";
  return result;
}

Result timed(const Configuration& configuration, double ms, Stage stage = Stage::screen) {
  Result result;
  result.kernel = "tiled";
  result.problem = kProblem;
  result.configuration = configuration;
  result.stage = stage;
  result.measurement = summarize(std::vector<double>{ms, ms, ms});
  return result;
}

/// Returns it as it is read back from a run there.
Result on_h200(Result result) {
  result.unit = h200().uuid;
  return result;
}

Result chosen(Result result) {
  result.chosen = true;
  return result;
}

Result of_kernel(const std::string& kernel, Result result) {
  result.kernel = kernel;
  return result;
}

/// A result with something in every member, times that 32-bit floats hold.
Result full_result() {
  Result result =
      timed({{"TILE", std::int64_t{32}}, {"LAYOUT", "row"}, {"WORD", "7"}}, 1.5, Stage::final);
  result.measurement = summarize(std::vector<double>{1.5, 1.25, 1.75, 1.375}, 8);
  result.measurement.discarded = 2;
  result.measurement.sm_clock_mhz = 1980;
  result.metrics = {{"bytes", 2.5e9}, {"flops", 1.25e11}};
  LaunchResult launch;
  launch.shape.name_expression = "gemm_tiled<float, 32>";
  launch.shape.grid = {128, 64, 2};
  launch.shape.block = {32, 8, 1};
  launch.shape.dynamic_shared_bytes = 65536;
  launch.shape.static_shared_bytes = 4224;
  launch.shape.arguments = {"a", "b", "c"};
  launch.resources = {.registers_per_thread = 40,
                      .static_shared_bytes = 4224,
                      .stack_bytes = 16,
                      .spill_store_bytes = 4,
                      .spill_load_bytes = 8,
                      .constant_bytes = 12,
                      .barriers = 1,
                      .max_threads_per_block = 256};
  launch.occupancy = {.blocks_per_sm = 6,
                      .warps_per_sm = 48,
                      .percent = 75,
                      .blocks_by_threads = 8,
                      .blocks_by_registers = 6,
                      .blocks_by_shared = 7,
                      .blocks_by_limit = 32};
  result.launches = {launch, launch};
  result.launches[1].shape.static_shared_bytes.reset();
  result.launches[1].facts = {{"code.instructions", 180}, {"code.shared_load_16_bytes", 4}};
  result.max_absolute_error = 1e-5;
  result.max_relative_error = 2e-6;
  result.compared_with = ComparedWith::definition;
  result.compared = {{.problem = kProblem,
                      .output = "c",
                      .with = ComparedWith::definition,
                      .compared = 3050,
                      .elements_total = 16777216},
                     {.problem = {{"N", std::int64_t{8}}, {"T", "1"}},
                      .output = "c",
                      .with = ComparedWith::only_itself,
                      .compared = 64,
                      .elements_total = 64,
                      .only_sum = true}};
  result.compile_ms = 432.1;
  result.verify_ms = 12.5;
  result.cubin_sha256 = "cb";
  result.unit = h200().uuid;
  result.is_default = true;
  return result;
}

std::vector<double> times(const std::vector<StoredResult>& results) {
  std::vector<double> medians;
  for (const StoredResult& stored : results) medians.push_back(stored.result.measurement.median_ms);
  return medians;
}

class InMemory : public testing::Test {
 protected:
  double best_ms() const {
    const auto best = store.best({}, false);
    return best.empty() ? 0 : best.at(0).result.measurement.median_ms;
  }

  ResultStore store{":memory:"};
};

class OnDisk : public TestFolder {
 protected:
  std::filesystem::path file() const { return folder() / "results.sqlite"; }
  std::int64_t count(const char* sql) const {
    return Connection(file(), OpenMode::read_only, 0).integer(sql);
  }

  /// Stores that the process is of an earlier boot: the machine went down with all that was running.
  void take_machine_down() const {
    const Connection connection(file(), OpenMode::read_write, 0);
    connection.execute("UPDATE run SET process = 'another-boot/1/1'");
  }
};

/// Runs `body` in a child process, which ends without destructors, as when it is killed.
void in_dying_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed";
}

using ResultStoreRoundTrip = InMemory;

TEST_F(ResultStoreRoundTrip, KeepsOnWhichUnitOfAModelEachResultWasMeasured) {
  const std::string second = "GPU-00000000-0000-0000-0000-000000000002";
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  Result here = timed(tile(8), 2);
  here.unit = h200().uuid;
  Result there = timed(tile(16), 1);
  there.unit = second;
  Result crashed = failed(tile(32), Status::runtime, "illegal_address");
  crashed.unit = second;
  for (const Result& result : {here, there, crashed, failed(tile(64), Status::compile, "error")}) {
    log->record(kHash, result);
  }
  const auto results = store.results({});
  std::vector<std::string> units;
  for (const StoredResult& stored : results) units.push_back(stored.device.uuid);
  EXPECT_THAT(units, ElementsAre(h200().uuid, second, second, h200().uuid));
  EXPECT_EQ(results[1].result, there);
  EXPECT_THAT(store.results({.device = second}), SizeIs(2));
  EXPECT_EQ(store.best({}, false).at(0).device.uuid, second);
  EXPECT_THAT(store.devices(), SizeIs(1)) << "one model";

  // A run on any unit goes on with all of them.
  Device elsewhere = h200();
  elsewhere.uuid = second;
  const auto next = store.begin_run(run_on(elsewhere, "run-2"));
  EXPECT_EQ(next->find({kHash, "tiled", kProblem, tile(8)}), here);
  EXPECT_EQ(next->find({kHash, "tiled", kProblem, tile(16)}), there);
}

TEST_F(ResultStoreRoundTrip, KeepsEverythingOfAResult) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, full_result());
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, full_result().configuration}), full_result());

  const auto results = store.results({});
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_EQ(results[0].result, full_result());
  EXPECT_EQ(results[0].space, "gemm");
  EXPECT_EQ(results[0].kernel_hash, kHash);
  EXPECT_EQ(results[0].device, h200());
  EXPECT_EQ(results[0].run_id, "run-1");
  EXPECT_EQ(results[0].compiler, "NVRTC 13.0");
  EXPECT_EQ(results[0].tool_version, "0.1.0");
  EXPECT_EQ(results[0].host, "host-1");
  EXPECT_GT(results[0].at_unix, 1.6e9);
  EXPECT_FALSE(results[0].stale);
}

TEST_F(ResultStoreRoundTrip, KeepsSamplesAsFloats) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(32), 0.1));
  const Measurement measured = store.results({}).at(0).result.measurement;
  EXPECT_EQ(measured.median_ms, summarize(std::vector<double>{0.1, 0.1, 0.1}).median_ms);
  EXPECT_THAT(measured.samples_ms, ElementsAre(0.1f, 0.1f, 0.1f));
}

TEST_F(ResultStoreRoundTrip, KeepsErrorsThatAreNoNumbers) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  Result result = failed(tile(32), Status::correctness, "nan");
  result.max_absolute_error = std::nan("");
  result.max_relative_error = std::numeric_limits<double>::infinity();
  result.metrics = {{"flops", std::nan("")}, {"bytes", 1}};
  log->record(kHash, result);
  const Result read = store.results({}).at(0).result;
  EXPECT_TRUE(std::isnan(read.max_absolute_error));
  EXPECT_EQ(read.max_relative_error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.metrics, (std::map<std::string, double>{{"bytes", 1}}));
}

TEST_F(ResultStoreRoundTrip, KeepsAnyText) {
  const auto log = store.begin_run(run_on(h200(), "run-1", "'); DROP TABLE result --"));
  Result result = failed(tile(32), Status::compile, "error");
  result.detail = std::string("\xff\xfe invalid, \0 nul, %s%n", 23);
  log->record("\"quoted\"", result);
  const StoredResult read = store.results({}).at(0);
  EXPECT_EQ(read.space, "'); DROP TABLE result --");
  EXPECT_EQ(read.kernel_hash, "\"quoted\"");
  EXPECT_EQ(read.result.detail, result.detail);
}

TEST_F(ResultStoreRoundTrip, CutsALogOf1MB) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  Result result = failed(tile(32), Status::compile, "error");
  result.detail = std::string(1 << 20, 'x');
  log->record(kHash, result);
  const std::string detail = store.results({}).at(0).result.detail;
  EXPECT_LE(detail.size(), 65536u);
  EXPECT_THAT(detail, HasSubstr("bytes left out"));
}

TEST(Truncated, CutsBetweenCharacters) {
  EXPECT_EQ(truncated("abc", 3), "abc");
  std::string text;
  for (int i = 0; i < 40; ++i) text += "\u00e9";  // Two bytes each.
  const std::string cut = truncated(text, 41);
  EXPECT_LE(cut.size(), 41u);
  const std::size_t end = cut.find('\n');
  EXPECT_EQ(end % 2, 0u);
  EXPECT_EQ(cut.substr(end), "\n[" + std::to_string(80 - end) + " bytes left out]");
}

TEST(Columns, RefuseTextThatWasNotWrittenHere) {
  const Connection connection(":memory:", Connection::Mode::read_write, 0);
  const auto expect_refused = [&](const std::string& text, auto read) {
    Statement row(connection, "SELECT :text AS values_json");
    row.bind(":text", text).step();
    EXPECT_THAT([&] { read(row, "values_json"); },
                testing::ThrowsMessage<StoreError>(
                    HasSubstr(":memory:: the database is damaged (column values_json: ")))
        << text;
  };
  expect_refused("{\"TILE\":", bindings_from_json);
  expect_refused("{\"TILE\":null}", bindings_from_json);
  expect_refused("[1]", launches_from_json);
  expect_refused("[{\"entry\":\"e\",\"grid\":[1,2]}]", launches_from_json);
  expect_refused(R"([{"entry":"e","resources":{},"occupancy":5}])", launches_from_json);
  expect_refused(R"([{"entry":"e","resources":{"barriers":"1"},"occupancy":{}}])",
                 launches_from_json);
  expect_refused(R"([{"entry":"e","resources":{},"occupancy":{},"facts":{"code":"1"}}])",
                 launches_from_json);
  expect_refused("[\"flops\"]", metrics_from_json);
  expect_refused("", metrics_from_json);
}

TEST(Columns, LeaveOutWhatIsNotKnown) {
  // Version 3 read a number of each member that is there.
  const std::string text = to_json(full_result().launches);
  EXPECT_THAT(text, HasSubstr("\"static_shared_bytes\":4224,\"arguments\""));
  EXPECT_THAT(text, testing::Not(HasSubstr("null")));
}

using ResultStoreBest = InMemory;

TEST_F(ResultStoreBest, IsTheFastestVerified) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  EXPECT_THAT(store.best({}, false), IsEmpty());
  log->record(kHash, timed(tile(16), 3));
  log->record(kHash, timed(tile(32), 2));
  log->record(kHash, timed(tile(64), 4));
  log->record(kHash, failed(tile(128), Status::correctness, "mismatch"));
  Result untimed = timed(tile(256), 1);
  untimed.stage = Stage::none;
  log->record(kHash, untimed);
  EXPECT_EQ(best_ms(), 2);
}

TEST_F(ResultStoreBest, OfARunIsThatOfItsOwnResults) {
  const auto first = store.begin_run(run_on(h200(), "run-1"));
  first->record(kHash, timed(tile(16), 1.0));
  first->record(kHash, chosen(timed(tile(32), 1.1, Stage::final)));
  first->record(kHash, timed(tile(64), 1.2, Stage::final));
  const auto second = store.begin_run(run_on(h200(), "run-2"));
  second->record(kHash, timed(tile(16), 3));
  second->record(kHash, timed(tile(64), 0.5, Stage::final));
  EXPECT_THAT(times(store.best({.run = "run-1"}, true)), ElementsAre(1.1));
  EXPECT_THAT(times(store.best({.run = "run-2"}, true)), ElementsAre(0.5));
  EXPECT_THAT(store.best({.run = "run-3"}, true), IsEmpty());
}

TEST_F(ResultStoreBest, IsOfTheFinalsWhereTheRunHadSome) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 1.00));
  log->record(kHash, timed(tile(32), 1.01));
  log->record(kHash, timed(tile(64), 1.02));
  log->record(kHash, timed(tile(32), 1.05, Stage::final));
  log->record(kHash, chosen(timed(tile(64), 1.04, Stage::final)));
  EXPECT_EQ(best_ms(), 1.04);
  EXPECT_EQ(store.best({}, false).at(0).result.stage, Stage::final);
}

TEST_F(ResultStoreBest, OfAKernelIsNotItsDefaultJustBecauseOnlyThatWasInFinals) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 3.0));
  log->record(kHash, timed(tile(32), 2.8));
  log->record("naive-hash", chosen(of_kernel("naive", timed(tile(16), 1.0, Stage::final))));
  log->record(kHash, timed(tile(16), 3.1, Stage::final));
  EXPECT_THAT(times(store.best({}, true)), ElementsAre(1.0, 2.8));
  EXPECT_THAT(times(store.best({}, false)), ElementsAre(1.0));
}

TEST_F(ResultStoreBest, IsWhatTheFinalsChoseAmongTies) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  Result choice = timed(tile(32), 1.002, Stage::final);
  choice.chosen = true;
  log->record(kHash, choice);
  log->record(kHash, timed(tile(16), 1.000, Stage::final));
  log->record("naive-hash", of_kernel("naive", timed(tile(16), 1.0018, Stage::final)));
  EXPECT_EQ(best_ms(), 1.002);
  EXPECT_THAT(store.best({}, true), SizeIs(2));

  // Finals of another run chose among others, and what fails later is no choice.
  store.begin_run(run_on(h200(), "run-2"))->record(kHash, timed(tile(64), 1.0015, Stage::final));
  EXPECT_EQ(best_ms(), 1.0015);
  const auto last = store.begin_run(run_on(h200(), "run-3"));
  last->record(kHash, failed(tile(32), Status::correctness, "mismatch"));
  EXPECT_EQ(best_ms(), 1.000);
}

TEST_F(ResultStoreBest, IsOfTheFinalsOfARunThatResumed) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1.00));
  const auto log = store.begin_run(run_on(h200(), "run-2"));
  log->record(kHash, chosen(timed(tile(32), 1.04, Stage::final)));
  EXPECT_EQ(best_ms(), 1.04);
}

TEST_F(ResultStoreBest, IsNotHiddenByFinalsOfAPoorerRun) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1.00));
  const auto log = store.begin_run(run_on(h200(), "run-2"));
  log->record(kHash, timed(tile(32), 2.00, Stage::final));
  EXPECT_EQ(best_ms(), 1.00);
}

TEST_F(ResultStoreBest, MayBeAScreenThatIsNewerThanTheFinals) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1.00, Stage::final));
  const auto log = store.begin_run(run_on(h200(), "run-2"));
  log->record(kHash, timed(tile(32), 0.98));
  EXPECT_EQ(best_ms(), 0.98);
  log->record(kHash, timed(tile(32), 1.03, Stage::final));
  EXPECT_EQ(best_ms(), 1.00);
}

TEST_F(ResultStoreBest, FollowsALaterMeasurementOfTheSameConfiguration) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1));
  const auto log = store.begin_run(run_on(h200(), "run-2"));
  log->record(kHash, timed(tile(32), 2));
  EXPECT_EQ(best_ms(), 1);
  log->record(kHash, timed(tile(16), 3));
  EXPECT_EQ(best_ms(), 2);
  log->record(kHash, timed(tile(16), 1.5));
  EXPECT_EQ(best_ms(), 1.5);
}

TEST_F(ResultStoreBest, IsLostByAFailureThatIsFoundLater) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 1));
  log->record(kHash, timed(tile(32), 2));
  log->record(kHash, failed(tile(16), Status::correctness, "mismatch"));
  EXPECT_EQ(best_ms(), 2);
  log->record(kHash, failed(tile(32), Status::correctness, "mismatch"));
  EXPECT_THAT(store.best({}, false), IsEmpty());
}

TEST_F(ResultStoreBest, IsOnePerKernelOrOneOfAll) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 2));
  log->record("naive-hash", of_kernel("naive", timed(tile(16), 20)));
  EXPECT_THAT(times(store.best({}, true)), ElementsAre(2, 20));
  EXPECT_THAT(times(store.best({}, false)), ElementsAre(2));
}

TEST_F(ResultStoreBest, OfAllKernelsIsAFinalToo) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record("naive-hash", of_kernel("naive", timed(tile(16), 1.02)));
  log->record(kHash, timed(tile(16), 1.01));
  log->record(kHash, chosen(timed(tile(16), 1.03, Stage::final)));
  EXPECT_THAT(times(store.best({}, false)), ElementsAre(1.03));
  EXPECT_THAT(times(store.best({}, true)), ElementsAre(1.02, 1.03));
}

TEST_F(ResultStoreBest, NeverMixesDevicesProblemsOrSpaces) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 2));
  store.begin_run(run_on(other_gpu(), "run-2"))->record(kHash, timed(tile(32), 1));
  store.begin_run(run_on(cpu(), "run-3"))->record(kHash, timed(tile(64), 0.5));
  store.begin_run(run_on(h200(), "run-4", "another"))->record(kHash, timed(tile(16), 0.25));
  Result smaller = timed(tile(16), 0.125);
  smaller.problem = {{"N", std::int64_t{512}}, {"T", "float"}};
  store.begin_run(run_on(h200(), "run-5"))->record(kHash, smaller);
  EXPECT_THAT(times(store.best({}, false)), ElementsAre(1, 0.25, 2, 0.125, 0.5));
}

TEST_F(ResultStoreBest, SurvivesAnUpgrade) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 2));
  smemtune::Run upgraded = run_on(h200(), "run-2");
  upgraded.device.driver_version = "14.0";
  upgraded.device.uuid = "GPU-00000000-0000-0000-0000-000000000002";
  upgraded.device.memory_bytes -= 100 << 20;
  upgraded.compiler = "NVRTC 14.0";
  upgraded.tool_version = "9.0";
  const auto log = store.begin_run(upgraded);
  EXPECT_TRUE(log->find({kHash, "tiled", kProblem, tile(16)}));
  log->record(kHash, timed(tile(32), 1));
  const auto best = store.best({}, true);
  EXPECT_THAT(times(best), ElementsAre(1));
  EXPECT_EQ(best[0].device.driver_version, "14.0");
  EXPECT_EQ(best[0].device.uuid, upgraded.device.uuid);
  EXPECT_THAT(store.devices(), SizeIs(1));
}

TEST_F(ResultStoreBest, OfAnEditedKernelIsStaleUntilThereIsANewOne) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 1));
  log->record("hash-2", failed(tile(16), Status::compile, "error"));
  auto best = store.best({}, true);
  ASSERT_THAT(times(best), ElementsAre(1));
  EXPECT_TRUE(best[0].stale);

  log->record("hash-2", timed(tile(16), 2));
  best = store.best({}, true);
  ASSERT_THAT(times(best), ElementsAre(2));
  EXPECT_FALSE(best[0].stale);
  EXPECT_EQ(best[0].kernel_hash, "hash-2");
}

TEST_F(ResultStoreBest, IsCurrentAgainWhenAnEditIsTakenBack) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1));
  store.begin_run(run_on(h200(), "run-2"))->record("hash-2", timed(tile(16), 2));
  EXPECT_TRUE(store.begin_run(run_on(h200(), "run-3"))->find({kHash, "tiled", kProblem, tile(16)}));
  const auto best = store.best({}, true);
  ASSERT_THAT(times(best), ElementsAre(1));
  EXPECT_FALSE(best[0].stale);
}

TEST_F(ResultStoreBest, OfAllKernelsIsStaleOnlyWhereAllAre) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 1));
  log->record("naive-hash", of_kernel("naive", timed(tile(16), 20)));
  log->record("hash-2", failed(tile(16), Status::compile, "error"));
  EXPECT_THAT(times(store.best({}, false)), ElementsAre(20));
}

TEST_F(ResultStoreBest, IsWhatBothOfTwoRunsAtOnceChose) {
  const auto one = store.begin_run(run_on(h200(), "run-1"));
  const auto two = store.begin_run(run_on(h200(), "run-2"));
  const auto choice = [](std::int64_t size, double ms) {
    Result result = timed(tile(size), ms, Stage::final);
    result.chosen = true;
    return result;
  };
  one->record(kHash, choice(32, 16.54));
  one->record(kHash, timed(tile(64), 17.21, Stage::final));
  // The device is slower now: what lost to the winner before is not faster for that.
  two->record(kHash, choice(32, 17.40));
  two->record(kHash, timed(tile(16), 17.90, Stage::final));
  EXPECT_EQ(best_ms(), 17.40);

  // The same with another kernel.
  one->record("naive-hash", of_kernel("naive", timed(tile(8), 17.30, Stage::final)));
  EXPECT_THAT(times(store.best({}, true)), ElementsAre(17.30, 17.40));
  EXPECT_EQ(best_ms(), 17.40);
}

TEST_F(ResultStoreBest, IsNotLostByAFailureThatMayPass) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 1));
  log->record(kHash, timed(tile(32), 2));
  for (int i = 0; i < 3; ++i) {
    log->record(kHash, failed(tile(16), Status::timeout, "hang"));
    log->record(kHash, failed(tile(16), Status::runtime, "crash"));
  }
  EXPECT_EQ(best_ms(), 1);
  const auto of_run = store.best({.run = "run-1"}, false);
  ASSERT_EQ(of_run.size(), 1u);
  EXPECT_EQ(of_run.front().result.measurement.median_ms, 1);
  const auto another = store.begin_run(run_on(h200(), "run-2"));
  another->record(kHash, timed(tile(64), 3, Stage::final));  // Everything is looked at again.
  EXPECT_EQ(best_ms(), 1);
  log->record(kHash, failed(tile(16), Status::correctness, "mismatch"));
  log->record(kHash, failed(tile(16), Status::runtime, "crash"));
  EXPECT_EQ(best_ms(), 2);
}

TEST_F(ResultStoreBest, IsWhatTheRuleSaysWhateverTheOrderOfRuns) {
  // Two to four runs at once, in any order; the table is kept up step by step.
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  std::optional<ResultStore> fresh;
  for (int trial = 0; trial < kInterleavings; ++trial) {
    if (trial % 50 == 0) fresh.emplace(":memory:");
    const std::string space = "space-" + std::to_string(trial);
    PlainModel model;
    std::vector<std::unique_ptr<ResultLog>> logs;
    const int runs = 2 + static_cast<int>(below(3));
    for (int run = 0; run < runs; ++run) {
      logs.push_back(fresh->begin_run(run_on(h200(), space + "-" + std::to_string(run), space)));
    }
    const int results = 3 + static_cast<int>(below(9));
    for (int i = 0; i < results; ++i) {
      const auto run = static_cast<std::size_t>(below(static_cast<std::uint64_t>(runs)));
      const auto size = static_cast<std::int64_t>(below(4));
      const std::uint64_t kind = below(10);
      Result result = timed(tile(size), 1 + static_cast<double>(below(30)) / 100,
                            kind < 5 ? Stage::final : Stage::screen);
      result.chosen = kind < 2;
      if (kind == 8) result = failed(tile(size), Status::correctness, "mismatch");
      if (kind == 9) result = failed(tile(size), Status::runtime, "crash");
      if (below(3) == 0) result.kernel = "naive";
      model.record(static_cast<int>(run), result);
      logs[run]->record(result.kernel + "-hash", result);
    }
    const auto expect_equal = [&](const std::vector<StoredResult>& best,
                                  const std::optional<double>& expected, const char* what) {
      ASSERT_EQ(best.size(), expected ? 1u : 0u) << what << " of trial " << trial;
      if (expected) {
        ASSERT_EQ(best[0].result.measurement.median_ms, *expected) << what << " of trial " << trial;
      }
    };
    for (const char* kernel : {"tiled", "naive"}) {
      expect_equal(fresh->best({.space = space, .kernel = kernel}, true), model.best_ms(kernel),
                   kernel);
    }
    expect_equal(fresh->best({.space = space}, false), model.best_ms_of_all(), "all kernels");
    if (HasFatalFailure()) return;
  }
}

TEST(Ranking, OfScreensOnlyIsTheFastest) {
  TimingHistory screens;
  screens.newest = {
      {.result_id = 1, .run_id = 1, .configuration_id = 1, .stage = Stage::screen, .median_ms = 2},
      {.result_id = 2, .run_id = 1, .configuration_id = 2, .stage = Stage::screen, .median_ms = 1}};
  EXPECT_EQ(best_of(screens), 1u);
  EXPECT_EQ(best_of({}), std::nullopt);
}

TEST(DeviceModel, IsEqualForBoardsOfOneKindOnly) {
  const std::string key = device_model_key(h200());
  Device device = h200();
  device.uuid = "another";
  device.driver_version = "14.0";
  device.memory_bytes -= 300 << 20;
  EXPECT_EQ(device_model_key(device), key);
  device = h200();
  device.sm_count = 16;
  EXPECT_NE(device_model_key(device), key);
  device = h200();
  device.memory_bytes /= 2;
  EXPECT_NE(device_model_key(device), key);
  device = h200();
  device.kind = DeviceKind::cpu;
  EXPECT_NE(device_model_key(device), key);
}

TEST(DeviceModel, KnowsMemoryAsItIsSold) {
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  EXPECT_EQ(nominal_memory_bytes(84'929'347'584), 80 * kGib);  // 79.1 GiB
  EXPECT_EQ(nominal_memory_bytes(25'334'120'448), 24 * kGib);  // 23.6 GiB
  EXPECT_EQ(nominal_memory_bytes(8 * kGib), 8 * kGib);
  EXPECT_EQ(nominal_memory_bytes(0), 0);
}

using ResultStoreFind = InMemory;

TEST_F(ResultStoreFind, ListsWhatEarlierRunsOnTheModelHaveMeasured) {
  {
    const auto log = store.begin_run(run_on(h200(), "run-1"));
    for (const std::int64_t size : {32, 8, 16}) log->record(kHash, timed(tile(size), 1));
    log->record(kHash, timed(tile(32), 2));
    log->record("hash-2", timed(tile(64), 1));
  }
  const auto log = store.begin_run(run_on(h200(), "run-2"));
  EXPECT_THAT(log->known({kHash, "tiled", kProblem, {}}), ElementsAre(tile(32), tile(8), tile(16)));
  EXPECT_THAT(log->known({kHash, "tiled", {{"N", std::int64_t{1}}}, {}}), IsEmpty());
  EXPECT_THAT(log->known({"hash-3", "tiled", kProblem, {}}), IsEmpty());
}

TEST_F(ResultStoreFind, KnowsNothingAtFirst) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}), std::nullopt);
  log->record(kHash, timed(tile(16), 1));
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(32)}), std::nullopt);
  EXPECT_EQ(log->find({"hash-2", "tiled", kProblem, tile(16)}), std::nullopt);
  EXPECT_EQ(log->find({kHash, "naive", kProblem, tile(16)}), std::nullopt);
  EXPECT_EQ(log->find({kHash, "tiled", {{"N", std::int64_t{1}}}, tile(16)}), std::nullopt);
}

TEST_F(ResultStoreFind, AnswersWithTheNewest) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 1));
  log->record(kHash, timed(tile(16), 2, Stage::final));
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}),
            on_h200(timed(tile(16), 2, Stage::final)));
}

TEST_F(ResultStoreFind, AnswersWithinATransaction) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1));
  const auto log = store.begin_run(run_on(h200(), "run-2"));
  log->in_transaction([&] {
    EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}), on_h200(timed(tile(16), 1)));
    EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(32)}), std::nullopt);
    log->record(kHash, timed(tile(32), 2));
  });
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(32)}), on_h200(timed(tile(32), 2)));
}

TEST_F(ResultStoreFind, StoresAgainWhatATransactionThatFailedDidNotKeep) {
  store.begin_run(run_on(h200(), "run-1"))->record("old", timed(tile(16), 1));
  store.begin_run(run_on(h200(), "run-2"))->record("new", timed(tile(16), 2));
  const auto log = store.begin_run(run_on(h200(), "run-3"));
  Result on_other_unit = timed(tile(32), 3);
  on_other_unit.unit = "GPU-2";
  const auto fail = [&] {
    log->find({"old", "tiled", kProblem, tile(16)});
    log->record("old", on_other_unit);
    throw InputError("failed");
  };
  EXPECT_THROW(log->in_transaction(fail), InputError);
  ASSERT_EQ(store.best({}, /*per_kernel=*/true).at(0).kernel_hash, "new");

  log->find({"old", "tiled", kProblem, tile(16)});
  EXPECT_EQ(store.best({}, /*per_kernel=*/true).at(0).kernel_hash, "old");
  log->record("old", on_other_unit);
  EXPECT_EQ(log->find({"old", "tiled", kProblem, tile(32)})->unit, "GPU-2");
}

TEST_F(ResultStoreFind, IsPerDeviceModel) {
  store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1));
  const auto log = store.begin_run(run_on(other_gpu(), "run-2"));
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}), std::nullopt);
}

TEST_F(ResultStoreFind, SkipsWhatWasVerifiedAndNotTimed) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  Result verified = timed(tile(16), 1);
  verified.stage = Stage::none;
  verified.measurement = {};
  log->record(kHash, verified);
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}), std::nullopt);
  EXPECT_THAT(store.results({}), SizeIs(1));
}

TEST_F(ResultStoreFind, KnowsALastingFailureAtOnce) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  const std::pair<Status, std::string> lasting[] = {{Status::constraints, "shared_bytes"},
                                                    {Status::compile, "error"},
                                                    {Status::correctness, "mismatch"},
                                                    {Status::runtime, "launch"}};
  std::int64_t size = 0;
  for (const auto& [status, reason] : lasting) {
    const Result result = failed(tile(++size), status, reason);
    log->record(kHash, result);
    EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(size)}), result) << reason;
  }
}

TEST_F(ResultStoreFind, KnowsAPassingFailureAfterTwo) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  const std::pair<Status, std::string> passing[] = {
      {Status::runtime, "crash"},           {Status::runtime, "lost"},
      {Status::runtime, "device_memory"},   {Status::timeout, "hang"},
      {Status::timeout, "compile_timeout"}, {Status::compile, "compile_timeout"},
      {Status::compile, "crash"},           {Status::compile, "out_of_memory"}};
  std::int64_t size = 0;
  for (const auto& [status, reason] : passing) {
    const Result result = failed(tile(++size), status, reason);
    log->record(kHash, result);
    EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(size)}), std::nullopt) << reason;
    log->record(kHash, result);
    EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(size)}), result) << reason;
  }
}

TEST_F(ResultStoreFind, ForgetsAPassingFailureThatWorkedLater) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  const Result crash = failed(tile(16), Status::runtime, "crash");
  log->record(kHash, crash);
  log->record(kHash, timed(tile(16), 1));
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}), on_h200(timed(tile(16), 1)));
  log->record(kHash, crash);
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}), std::nullopt);
}

using ResultStoreAttempts = OnDisk;

TEST_F(ResultStoreAttempts, CutOffTwiceWithTheirMachineQuarantineAConfiguration) {
  for (int run = 1; run <= 2; ++run) {
    in_dying_child([&] {
      ResultStore store(file());
      const auto log = store.begin_run(run_on(h200(), "run-" + std::to_string(run)));
      EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}), std::nullopt);
      log->begin_attempt({kHash, "tiled", kProblem, tile(16)});
    });
    take_machine_down();
  }
  ResultStore store(file());
  const auto log = store.begin_run(run_on(h200(), "run-3"));
  const auto found = log->find({kHash, "tiled", kProblem, tile(16)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->status, Status::runtime);
  EXPECT_EQ(found->reason, "quarantined");
  EXPECT_EQ(found->configuration, tile(16));
  EXPECT_THAT(found->detail, HasSubstr("2 attempts"));
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(32)}), std::nullopt);

  // Measured all the same (a run that starts afresh), it is forgiven.
  log->begin_attempt({kHash, "tiled", kProblem, tile(16)});
  log->record(kHash, timed(tile(16), 1));
  EXPECT_EQ(log->find({kHash, "tiled", kProblem, tile(16)}), on_h200(timed(tile(16), 1)));
}

TEST_F(ResultStoreAttempts, CutOffTwiceCountMoreThanWhatWasFoundBefore) {
  const auto die_at = [&](const std::string& run) {
    in_dying_child([&] {
      ResultStore store(file());
      const auto log = store.begin_run(run_on(h200(), run));
      log->begin_attempt({kHash, "tiled", kProblem, tile(16)});
    });
    take_machine_down();
  };
  const auto lost_and_found = [&](const std::string& run) {
    ResultStore store(file());
    const auto log = store.begin_run(run_on(h200(), run));
    const auto found = log->find({kHash, "tiled", kProblem, tile(16)});
    return std::pair(log->lost_attempts({kHash, "tiled", kProblem, tile(16)}),
                     found ? found->reason : "not found");
  };
  {
    ResultStore store(file());
    store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1));
  }
  EXPECT_EQ(lost_and_found("run-2"), std::pair(0, std::string()));
  die_at("run-3");
  EXPECT_EQ(lost_and_found("run-4"), std::pair(1, std::string()));
  {
    ResultStore store(file());
    const auto log = store.begin_run(run_on(h200(), "run-5"));
    log->begin_attempt({kHash, "tiled", kProblem, tile(16)});
    log->close_attempts({kHash, "tiled", kProblem, tile(16)});
  }
  EXPECT_EQ(lost_and_found("run-6"), std::pair(0, std::string()));
  die_at("run-7");
  die_at("run-8");
  EXPECT_EQ(lost_and_found("run-9"), std::pair(2, std::string("quarantined")));
}

TEST_F(ResultStoreAttempts, AreWrittenTogetherWithResultsOrNotAtAll) {
  in_dying_child([&] {
    ResultStore store(file());
    const auto log = store.begin_run(run_on(h200(), "run-1"));
    log->begin_attempt({kHash, "tiled", kProblem, tile(16)});
    log->in_transaction([&] {
      log->record(kHash, timed(tile(16), 1));
      log->begin_attempt({kHash, "tiled", kProblem, tile(32)});
    });
    log->in_transaction([&] {
      log->record(kHash, timed(tile(32), 1));
      log->begin_attempt({kHash, "tiled", kProblem, tile(64)});
      kill(getpid(), SIGKILL);
    });
  });
  ResultStore store(file());
  EXPECT_THAT(store.results({}), SizeIs(1));
  // A transaction that something ends early leaves nothing, and the next one is whole.
  const auto log = store.begin_run(run_on(h200(), "run-2"));
  EXPECT_THROW(log->in_transaction([&] {
    log->record(kHash, timed(tile(64), 1));
    throw StoreError("the disk is full");
  }),
               StoreError);
  EXPECT_THAT(store.results({}), SizeIs(1));
  log->record(kHash, timed(tile(64), 1));
  EXPECT_THAT(store.results({}), SizeIs(2));
}

TEST_F(ResultStoreAttempts, CountTogetherWithPassingFailures) {
  in_dying_child([&] {
    ResultStore store(file());
    const auto log = store.begin_run(run_on(h200(), "run-1"));
    log->begin_attempt({kHash, "tiled", kProblem, tile(16)});
    log->record(kHash, failed(tile(16), Status::runtime, "crash"));
    log->begin_attempt({kHash, "tiled", kProblem, tile(16)});
  });
  take_machine_down();
  ResultStore store(file());
  const auto found =
      store.begin_run(run_on(h200(), "run-2"))->find({kHash, "tiled", kProblem, tile(16)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reason, "quarantined");
}

TEST_F(ResultStoreAttempts, AreNotSettledByAFailureThatMayPass) {
  in_dying_child([&] {
    ResultStore store(file());
    store.begin_run(run_on(h200(), "run-1"))->begin_attempt({kHash, "tiled", kProblem, tile(16)});
  });
  take_machine_down();
  ResultStore store(file());
  const auto log = store.begin_run(run_on(h200(), "run-2"));
  log->begin_attempt({kHash, "tiled", kProblem, tile(16)});
  log->record(kHash, failed(tile(16), Status::runtime, "crash"));
  const auto found = log->find({kHash, "tiled", kProblem, tile(16)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reason, "quarantined");
}

TEST_F(ResultStoreAttempts, OfAProcessThatRunsOrWasKilledAreNotLost) {
  ResultStore store(file());
  for (const char* id : {"run-1", "run-2"}) {
    store.begin_run(run_on(h200(), id))->begin_attempt({kHash, "tiled", kProblem, tile(16)});
  }
  for (const char* id : {"killed-1", "killed-2"}) {
    in_dying_child([&] {
      ResultStore its(file());
      its.begin_run(run_on(h200(), id))->begin_attempt({kHash, "tiled", kProblem, tile(16)});
    });
  }
  ResultStore other(file());
  EXPECT_EQ(other.begin_run(run_on(h200(), "run-3"))->find({kHash, "tiled", kProblem, tile(16)}),
            std::nullopt);
}

TEST_F(ResultStoreAttempts, AreNotLostWhenTheRunWasStopped) {
  for (const char* id : {"run-1", "run-2"}) {
    in_dying_child([&] {
      ResultStore store(file());
      store.begin_run(run_on(h200(), id))->begin_attempt({kHash, "tiled", kProblem, tile(16)});
      store.end_run(id, "interrupted");
    });
  }
  take_machine_down();
  ResultStore store(file());
  EXPECT_EQ(store.begin_run(run_on(h200(), "run-3"))->find({kHash, "tiled", kProblem, tile(16)}),
            std::nullopt);
}

TEST(Process, HasGoneDownWithItsMachineOnlyWhereThatHasBootedSince) {
  constexpr double kMinute_s = 60;
  EXPECT_FALSE(went_down_with_machine(this_process(), kMinute_s));
  EXPECT_FALSE(went_down_with_machine("", kMinute_s));
  EXPECT_TRUE(went_down_with_machine("another-boot/1/1", kMinute_s));
  const std::string host = this_process().substr(this_process().rfind('/'));
  EXPECT_TRUE(went_down_with_machine("another-boot/1/1" + host, kMinute_s));
  EXPECT_FALSE(went_down_with_machine("another-boot/1/1/elsewhere", kMinute_s)) << "may be alive";
  EXPECT_TRUE(went_down_with_machine("another-boot/1/1/elsewhere", 2000 * kMinute_s));
  EXPECT_TRUE(is_alive(this_process()));
  EXPECT_FALSE(is_alive("another-boot/1/1/elsewhere"));
}

TEST(Process, MayBeAliveElsewhereWhileItGivesSignsOfLife) {
  constexpr double kMinute_s = 60;
  constexpr double kNow = 1.8e9;
  const std::string host = this_process().substr(this_process().rfind('/'));
  const std::string sign = sign_of_life(kNow, "without a/b");
  EXPECT_EQ(state_of(sign), "without a/b");
  EXPECT_TRUE(may_be_alive(sign, 0, kNow + 5000 * kMinute_s)) << "here it is seen";
  EXPECT_FALSE(may_be_alive("another-boot/1/1" + host, 0, kNow));
  const std::string heard = "another-boot/1/1/elsewhere/1800000000/";
  EXPECT_TRUE(may_be_alive(heard, 5000 * kMinute_s, kNow + 9 * kMinute_s));
  EXPECT_FALSE(may_be_alive(heard, 11 * kMinute_s, kNow + 11 * kMinute_s));
  const std::string of_an_earlier_version = "another-boot/1/1/elsewhere";
  EXPECT_TRUE(may_be_alive(of_an_earlier_version, 11 * kMinute_s, kNow));
  EXPECT_FALSE(may_be_alive(of_an_earlier_version, 2000 * kMinute_s, kNow));
}

using ResultStoreFindings = InMemory;

TEST_F(ResultStoreFindings, AreOfTheMostAlikePlacesThatTheRunDoesNotKnowByItself) {
  const auto at = [](std::int64_t n, std::int64_t size, double ms) {
    Result result = timed(tile(size), ms);
    result.problem = {{"N", n}};
    return result;
  };
  const auto here = store.begin_run(run_on(h200(), "run-1"));
  here->record(kHash, at(1, 16, 1));
  for (std::int64_t n = 2; n < 10; ++n) here->record(kHash, at(n, 16, 2));
  const auto there = store.begin_run(run_on(other_gpu(), "run-2"));
  there->record(std::string(64, 'e'), at(1, 8, 0.5));  // Edited since.
  there->record(kHash, at(1, 16, 4));
  there->record(kHash, at(1, 16, 3));
  there->record(kHash, at(1, 32, 5));
  Result failed_since = failed(tile(32), Status::correctness, "mismatch");
  failed_since.problem = {{"N", std::int64_t{1}}};
  there->record(kHash, failed_since);
  store.begin_run(run_on(cpu(), "run-3"))->record(kHash, at(1, 16, 6));
  store.begin_run(run_on(other_gpu(), "run-4", "another"))->record(kHash, at(1, 16, 7));

  const std::vector<Problem> tuned = {{{"N", std::int64_t{1}}}};
  const std::vector<PriorTimings> found = store.prior_timings("gemm", h200(), tuned);
  ASSERT_EQ(found.size(), kMostPriorTimings);
  EXPECT_EQ(found[0].device, other_gpu().name);
  EXPECT_EQ(found[0].problem, tuned.front());
  EXPECT_GT(found[0].device_distance, 0);
  const std::vector<std::pair<double, Configuration>> newest = {{3, tile(16)}};
  EXPECT_EQ(found[0].timed, newest);
  for (std::size_t i = 1; i < found.size(); ++i) {
    EXPECT_EQ(found[i].device, h200().name);
    EXPECT_NE(found[i].problem, tuned.front());
    EXPECT_EQ(found[i].timed.size(), 1u);
  }
  EXPECT_THAT(store.prior_timings("nothing", h200(), tuned), testing::IsEmpty());
}

TEST_F(ResultStoreFindings, TellWhatFinalsOnThisModelChoseLast) {
  const auto winner = [](const std::string& kernel, std::int64_t size, double chance) {
    Result result = chosen(of_kernel(kernel, timed(tile(size), 1, Stage::final)));
    result.cubin_sha256 = "code of " + std::to_string(size);
    result.finals.searched = {.chance_of_better = chance, .evaluated = 20, .valid = 100};
    return result;
  };
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  const Result first = winner("tiled", 16, 0.01);
  log->record(kHash, first);
  const std::vector<Problem> tuned = {first.problem};
  const auto found = [&](bool is_log) {
    std::vector<std::string> winners;
    for (const PriorTimings& prior : store.prior_timings("gemm", h200(), tuned, is_log)) {
      EXPECT_EQ(prior.is_in_log, is_log);
      EXPECT_EQ(prior.timed.empty(), is_log) << "the run finds its times itself";
      if (!prior.winner) continue;
      winners.push_back(prior.kernel + " " + key(prior.winner->configuration) + " " +
                        prior.winner->cubin_sha256 + " " +
                        std::to_string(prior.winner->searched.valid));
    }
    return winners;
  };
  EXPECT_THAT(found(true), testing::ElementsAre("tiled TILE=16 code of 16 100"));
  EXPECT_THAT(found(false), testing::ElementsAre("tiled TILE=16 code of 16 100"));
  log->record("naive-hash", winner("naive", 8, 0.02));
  EXPECT_THAT(found(true), testing::ElementsAre("naive TILE=8 code of 8 100"));
  EXPECT_THAT(found(false), testing::ElementsAre("naive TILE=8 code of 8 100"));
  log->record(kHash, chosen(timed(tile(32), 0.5, Stage::final)));
  EXPECT_THAT(found(false), testing::IsEmpty()) << "that one does not say what was searched";
}

using ResultStoreRuns = InMemory;

TEST_F(ResultStoreRuns, SayWhichHostsTheyWaitForWhileTheyGoOn) {
  store.begin_run(run_on(h200(), "run-1"));
  EXPECT_EQ(store.runs({}).front().hosts_state, "");
  store.note_alive("run-1", "without a/b");
  EXPECT_TRUE(store.runs({}).front().goes_on);
  EXPECT_EQ(store.runs({}).front().hosts_state, "without a/b");
  store.note_alive("run-1", "");
  EXPECT_EQ(store.runs({}).front().hosts_state, "");
  store.note_alive("run-1", "without c");
  store.end_run("run-1", "complete");
  EXPECT_EQ(store.runs({}).front().hosts_state, "");
}

TEST_F(ResultStoreRuns, AreListedWithTheirResults) {
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 1));
  log->record(kHash, failed(tile(32), Status::compile, "error"));
  store.end_run("run-1", "complete");
  smemtune::Run later = run_on(cpu(), "run-2");
  later.started_unix += 5;
  store.begin_run(later);

  const auto runs = store.runs({});
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].id, "run-1");
  EXPECT_EQ(runs[0].space, "gemm");
  EXPECT_EQ(runs[0].device, "NVIDIA H200");
  EXPECT_EQ(runs[0].compiler, "NVRTC 13.0");
  EXPECT_EQ(runs[0].strategy, "random");
  EXPECT_EQ(runs[0].seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(runs[0].started_unix, 1e9);
  EXPECT_TRUE(runs[0].ended_unix);
  EXPECT_EQ(runs[0].outcome, "complete");
  EXPECT_EQ(runs[0].results, 2u);
  EXPECT_EQ(runs[0].correct, 1u);
  EXPECT_EQ(runs[1].device_kind, DeviceKind::cpu);
  EXPECT_EQ(runs[1].ended_unix, std::nullopt);
  EXPECT_EQ(runs[1].outcome, "");
  EXPECT_THAT(store.runs({.device = "h200"}), SizeIs(1));
  EXPECT_THAT(store.runs({.device = "CPU"}), SizeIs(1));
}

TEST_F(ResultStoreRuns, AreNeverDryAndEndOnlyWhenTheyBegan) {
  Device absent = h200();
  absent.uuid = "";
  EXPECT_THROW(store.begin_run(run_on(absent, "run-1")), InputError);
  EXPECT_THAT(store.runs({}), IsEmpty());
  EXPECT_THROW(store.end_run("run-1", "complete"), StoreError);
}

TEST_F(ResultStoreRuns, HaveTheirOwnIds) {
  store.begin_run(run_on(h200(), "run-1"));
  EXPECT_THROW(store.begin_run(run_on(h200(), "run-1")), StoreError);
}

class ResultStoreQuery : public InMemory {
 protected:
  ResultStoreQuery() {
    const auto log = store.begin_run(run_on(h200(), "run-1"));
    log->record(kHash, timed(tile(1), 1));
    log->record(kHash, failed(tile(2), Status::compile, "error"));
    log->record("n", of_kernel("naive", timed(tile(3), 3)));
    Result smaller = timed(tile(4), 4);
    smaller.problem = {{"N", std::int64_t{512}}, {"T", "float"}};
    log->record(kHash, smaller);
    store.begin_run(run_on(other_gpu(), "run-2", "other"))->record(kHash, timed(tile(5), 5));
  }

  /// The tile sizes of the answers.
  std::vector<std::int64_t> tiles(const Query& query, std::size_t limit = 0) const {
    std::vector<std::int64_t> sizes;
    for (const StoredResult& stored : store.results(query, limit)) {
      sizes.push_back(std::get<std::int64_t>(stored.result.configuration.at("TILE")));
    }
    return sizes;
  }
};

TEST_F(ResultStoreQuery, MeansAllWhenEmptyInTheOrderRecorded) {
  EXPECT_THAT(tiles({}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(tiles({}, 2), ElementsAre(4, 5));
}

TEST_F(ResultStoreQuery, SelectsByEveryMember) {
  EXPECT_THAT(tiles({.space = "other"}), ElementsAre(5));
  EXPECT_THAT(tiles({.kernel = "naive"}), ElementsAre(3));
  EXPECT_THAT(tiles({.kernel = "other/tiled"}), ElementsAre(5));
  EXPECT_THAT(tiles({.device = "a100"}), ElementsAre(5));
  EXPECT_THAT(tiles({.device = "gpu-00000000-0000-0000-0000-00000000000A"}), ElementsAre(5));
  EXPECT_THAT(tiles({.status = "compile"}), ElementsAre(2));
  EXPECT_THAT(tiles({.run = "run-2"}), ElementsAre(5));
  EXPECT_THROW(tiles({.run = "run"}), InputError);  // It may be any of two.
  EXPECT_THAT(tiles({.run = "un-2"}), IsEmpty());
  EXPECT_THAT(tiles({.space = "gemm' OR '1'='1"}), IsEmpty());
  EXPECT_THAT(tiles({.device = "%"}), IsEmpty());
}

TEST_F(ResultStoreQuery, SelectsProblemsByKeyOrPart) {
  EXPECT_THAT(tiles({.problem = "N=512,T=float"}), ElementsAre(4));
  EXPECT_THAT(tiles({.problem = "N=512"}), ElementsAre(4));
  EXPECT_THAT(tiles({.space = "gemm", .problem = "T=float"}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(tiles({.problem = "T=double"}), IsEmpty());
  EXPECT_THAT(tiles({.problem = "N=512,M=1"}), IsEmpty());
  EXPECT_THROW(tiles({.problem = "N"}), InputError);
}

TEST_F(ResultStoreQuery, SelectsBestsToo) {
  EXPECT_THAT(times(store.best({.space = "gemm"}, true)), ElementsAre(1, 3, 4));
  EXPECT_THAT(times(store.best({.kernel = "naive"}, false)), ElementsAre(3));
  EXPECT_THAT(times(store.best({.device = "a100"}, true)), ElementsAre(5));
  EXPECT_THAT(times(store.best({.problem = "N=512"}, true)), ElementsAre(4));
}

TEST_F(ResultStoreQuery, KnowsTheDevices) {
  const auto devices = store.devices();
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].name, "NVIDIA A100-SXM4-80GB");
  Device model = h200();
  model.uuid = model.driver_version = model.runtime_version = "";
  EXPECT_EQ(devices[1], model);
}

using ResultStoreOnDisk = OnDisk;

TEST_F(ResultStoreOnDisk, IsReadWhileItIsWritten) {
  ResultStore writer(file());
  const auto log = writer.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(16), 1));
  const ResultStore reader(file(), ResultStore::Mode::read_only);
  EXPECT_THAT(times(reader.best({}, true)), ElementsAre(1));
  log->record(kHash, timed(tile(32), 0.5));
  EXPECT_THAT(times(reader.best({}, true)), ElementsAre(0.5));
}

TEST_F(ResultStoreOnDisk, TakesResultsOfTwoProcessesAtOnce) {
  constexpr int kResults = 40;
  const auto record_many = [&](const std::string& id, std::int64_t first) {
    ResultStore store(file());
    const auto log = store.begin_run(run_on(h200(), id));
    for (std::int64_t i = 0; i < kResults; ++i) {
      // Half of the configurations are the other process's as well.
      const Configuration configuration = tile(first + i);
      log->find({kHash, "tiled", kProblem, configuration});
      log->begin_attempt({kHash, "tiled", kProblem, configuration});
      log->record(kHash, timed(configuration, 1 + static_cast<double>(first + i)));
    }
    store.end_run(id, "complete");
  };
  const pid_t child = fork();
  if (child == 0) {
    try {
      record_many("child", 0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  EXPECT_NO_THROW(record_many("parent", kResults / 2));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);

  const ResultStore store(file(), ResultStore::Mode::read_only);
  EXPECT_THAT(store.results({}), SizeIs(2 * kResults));
  EXPECT_THAT(times(store.best({}, true)), ElementsAre(1));
  EXPECT_EQ(count("SELECT count(*) FROM attempt WHERE outcome = 'recorded'"), 2 * kResults);
  EXPECT_EQ(count("SELECT count(*) FROM configuration"), kResults + kResults / 2);
}

TEST_F(ResultStoreOnDisk, LosesNothingAcknowledgedWhenItsProcessIsKilled) {
  std::mt19937_64 random(20);
  std::int64_t acknowledged = 0;
  for (int round = 0; round < 20; ++round) {
    int channel[2];
    ASSERT_EQ(pipe(channel), 0);
    const pid_t child = fork();
    if (child == 0) {
      ResultStore store(file());
      const auto log = store.begin_run(run_on(h200(), "run-" + std::to_string(round)));
      for (std::int64_t i = acknowledged + 1;; ++i) {
        log->begin_attempt({kHash, "tiled", kProblem, tile(i)});
        log->record(kHash, timed(tile(i), static_cast<double>(i)));
        if (::write(channel[1], &i, sizeof i) != sizeof i) _exit(1);
      }
    }
    close(channel[1]);
    const auto wanted = random() % 6;
    for (std::uint64_t i = 0; i < wanted; ++i) {
      ASSERT_EQ(read(channel[0], &acknowledged, sizeof acknowledged),
                static_cast<ssize_t>(sizeof acknowledged));
    }
    usleep(static_cast<useconds_t>(random() % 4000));  // Somewhere within the next transaction.
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    // Acknowledgements sent before it died count as well.
    while (read(channel[0], &acknowledged, sizeof acknowledged) > 0) {
    }
    close(channel[0]);

    const Connection connection = open_database(file(), OpenMode::read_write);
    ASSERT_EQ(connection.text("PRAGMA integrity_check"), "ok");
    ASSERT_FALSE(Statement(connection, "PRAGMA foreign_key_check").step());
    // One more may have been stored than was said.
    const std::int64_t stored =
        connection.integer("SELECT count(*) FROM result WHERE status = 'correct'");
    ASSERT_GE(stored, acknowledged);
    ASSERT_LE(stored, acknowledged + 1);
    acknowledged = stored;
    if (stored > 0) {
      ASSERT_EQ(connection.integer("SELECT median_ms FROM best"), 1);
    }
  }
  EXPECT_GT(acknowledged, 0);
}

TEST_F(ResultStoreOnDisk, KeepsWhatItHasWhenTheDiskIsFull) {
  {
    ResultStore store(file());
    store.begin_run(run_on(h200(), "run-1"))->record(kHash, timed(tile(16), 1));
  }
  const pid_t child = fork();
  if (child == 0) {
    // Files of this process may not grow: what a full disk says.
    signal(SIGXFSZ, SIG_IGN);
    ResultStore store(file());
    const auto log = store.begin_run(run_on(h200(), "run-2"));
    const rlimit limit = {.rlim_cur = std::filesystem::file_size(file()),
                          .rlim_max = RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    Result big = failed(tile(32), Status::compile, "error");
    big.detail = std::string(60000, 'x');
    try {
      log->record(kHash, big);
    } catch (const StoreError&) {
      const auto results = store.results({});  // The connection still works.
      _exit(results.size() == 1 ? 4 : 2);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 4);
  const Connection connection = open_database(file(), OpenMode::read_write, 0);
  EXPECT_EQ(connection.text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(connection.integer("SELECT count(*) FROM result"), 1);
}

TEST_F(ResultStoreOnDisk, FindsABestAmong100000ResultsWithoutReadingThem) {
  {
    ResultStore store(file());
    const auto log = store.begin_run(run_on(h200(), "run-1"));
    log->record(kHash, timed(tile(1), 1));
    log->record("n", of_kernel("naive", timed(tile(1), 2)));
  }
  const Connection connection = open_database(file(), OpenMode::read_write, 0);
  const auto steps_of_best = [&] {
    Statement best(connection, bests_sql());
    best.bind(":space", "gemm")
        .bind(":kernel", "")
        .bind(":device", "")
        .bind(":configuration", "")
        .bind(":status", "")
        .bind(":run", "")
        .bind(":hash", "")
        .bind(":source", "own");
    int rows = 0;
    while (best.step()) ++rows;
    EXPECT_EQ(rows, 2);
    return best.take_vm_steps();
  };
  const std::int64_t few = steps_of_best();
  connection.execute(R"sql(
    BEGIN;
    INSERT INTO configuration (space_id, kernel_name, key, values_json)
      WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n LIMIT 100000)
      SELECT 1, 'tiled', 'TILE=' || i, '{"TILE":' || i || '}' FROM n;
    INSERT INTO result (run_id, number, model_id, environment_id, kernel_id, problem_id,
        configuration_id, status, reason, detail, stage, launches_json, metrics_json, median_ms,
        compile_ms, verify_ms, cubin_sha256, is_default, is_reference, at_unix)
      SELECT 1, 2 + id, 1, 1, 1, 1, id, 'correct', '', '', 'screen', '[]', '{}', 1.0 + id, 0, 0,
             '', 0, 0, 0
      FROM configuration WHERE key <> 'TILE=1';
    COMMIT)sql");
  ASSERT_GE(connection.integer("SELECT count(*) FROM result"), 100000);
  EXPECT_EQ(steps_of_best(), few);

  Statement plan(connection, "EXPLAIN QUERY PLAN " + bests_sql());
  int steps = 0;
  while (plan.step()) {
    ++steps;
    EXPECT_THAT(plan.text("detail"), testing::Not(testing::StartsWith("SCAN result")));
    EXPECT_THAT(plan.text("detail"), testing::Not(testing::StartsWith("SCAN other")));
  }
  EXPECT_GT(steps, 5);

  // Neither does the question that a run asks of every configuration.
  Statement find_plan(connection, "EXPLAIN QUERY PLAN " + find_sql());
  while (find_plan.step()) {
    if (find_plan.text("detail").starts_with("SCAN json_each"))
      continue;  // The scan of the query's own list.
    EXPECT_THAT(find_plan.text("detail"), testing::Not(testing::StartsWith("SCAN")));
  }
}

TEST_F(ResultStoreOnDisk, FindsTheBestOfAProblemWithoutReadingThoseOfOthers) {
  ResultStore store(file());
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  for (std::int64_t n = 1; n <= 100; ++n) {
    Result result = timed(tile(1), 1);
    result.problem = {{"N", n}};
    log->record(kHash, result);
  }
  const Connection connection(file(), OpenMode::read_only, 0);
  const auto steps_of_best = [&](const std::string& problem) {
    Statement best(connection, bests_sql());
    bind_query(best, connection, {.problem = problem});
    while (best.step()) {
    }
    return best.take_vm_steps();
  };
  EXPECT_LT(steps_of_best("N=7"), steps_of_best("") / 3);
}

TEST_F(ResultStoreOnDisk, ListsRunsAndDefaultsWithoutReadingResults) {
  ResultStore store(file());
  const Connection connection(file(), OpenMode::read_only, 0);
  for (const std::string& sql : {runs_sql(), defaults_sql(), result_sql()}) {
    Statement plan(connection, "EXPLAIN QUERY PLAN " + sql);
    while (plan.step()) {
      const std::string step = plan.text("detail");
      if (step.starts_with("SCAN result")) {
        EXPECT_THAT(step, HasSubstr("result_default"));
      }
    }
  }
}

TEST_F(ResultStoreRuns, CountEachConfigurationAsItWasFoundLast) {
  ResultStore counted(":memory:");
  const auto log = counted.begin_run(run_on(h200(), "run-1"));
  log->record(kHash, timed(tile(1), 1));
  log->record(kHash, timed(tile(2), 2));
  log->record(kHash, failed(tile(3), Status::compile, "error"));
  log->record(kHash, timed(tile(1), 1, Stage::final));
  log->record(kHash, failed(tile(2), Status::runtime, "crash"));
  counted.begin_run(run_on(h200(), "run-2"))->record(kHash, timed(tile(2), 2));
  const auto runs = counted.runs({});
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].results, 3u);
  EXPECT_EQ(runs[0].correct, 1u);
  EXPECT_EQ(runs[1].results, 1u);
}

TEST_F(ResultStoreOnDisk, ChoosesABestFromTheIndexAlone) {
  ResultStore store(file());
  const Connection connection(file(), OpenMode::read_only, 0);
  Statement plan(connection, "EXPLAIN QUERY PLAN " + timing_history_sql());
  ASSERT_TRUE(plan.step());
  EXPECT_THAT(plan.text("detail"), HasSubstr("COVERING INDEX result_by_configuration"));
  EXPECT_FALSE(plan.step());  // Nothing is sorted.
}

TEST_F(ResultStoreOnDisk, SaysThatItsFileWasCutOffOrReplacedMeanwhile) {
  const auto message_after = [&](const std::function<void()>& harm) -> std::string {
    std::filesystem::remove(file());
    ResultStore store(file());
    const auto log = store.begin_run(run_on(h200(), "run-1"));
    for (int i = 0; i < 10; ++i) log->record(kHash, timed(tile(i), 1 + i));
    harm();
    try {
      log->find({kHash, "tiled", kProblem, tile(3)});
      log->record(kHash, timed(tile(3), 9));
      store.end_run("run-1", "complete");
    } catch (const StoreError& error) {
      return error.what();
    }
    return "nothing was said";
  };
  const auto cut = [&](double part) {
    const auto size = static_cast<double>(std::filesystem::file_size(file()));
    std::filesystem::resize_file(file(), static_cast<std::uintmax_t>(size * part));
  };
  for (const double part : {0.0, 0.1, 0.5, 0.9}) {
    EXPECT_THAT(message_after([&] { cut(part); }), HasSubstr("damaged")) << part;
  }
  EXPECT_THAT(message_after([&] { std::filesystem::remove(file()); }),
              HasSubstr("moved or replaced"));
  EXPECT_THAT(message_after([&] {
                std::filesystem::rename(file(), file().string() + ".old");
                ResultStore(file()).begin_run(run_on(h200(), "another"));
              }),
              HasSubstr("moved or replaced"));
}

TEST_F(ResultStoreOnDisk, MovesWithItsLogsAlive) {
  ResultStore moved(":memory:");
  ResultStore store(file());
  const auto log = store.begin_run(run_on(h200(), "run-1"));
  moved = std::move(store);
  log->record(kHash, timed(tile(16), 1));
  EXPECT_THAT(moved.results({}), SizeIs(1));
}

}  // namespace
}  // namespace smemtune::db
