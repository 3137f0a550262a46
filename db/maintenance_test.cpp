#include "db/maintenance.h"

#include "db/database_file.h"
#include "db/folder_test_support.h"
#include "db/import.h"
#include "db/result_store.h"
#include "db/run_log.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

namespace smemtune::db {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Timing {
  std::int64_t tile;
  double ms;
};

/// Stores a run of ours on an H200.
void tune(ResultStore& store, const std::string& id, const std::vector<Timing>& timings,
          const std::string& hash = "hash") {
  smemtune::Run run;
  run.id = id;
  run.space = "gemm";
  run.space_json = "{}";
  run.device = h200_limits();
  run.device.uuid = "GPU-1";
  run.started_unix = 1e9;
  const auto log = store.begin_run(run);
  for (const Timing& timing : timings) {
    Result result;
    result.kernel = "tiled";
    result.problem = {{"N", std::int64_t{4096}}};
    result.configuration = {{"TILE", timing.tile}};
    result.stage = Stage::screen;
    result.measurement = summarize(std::array{timing.ms, timing.ms});
    log->record(hash, result);
  }
  store.end_run(id, "complete");
}

class Maintenance : public TestFolder {
 protected:
  Added merge(const fs::path& from) const {
    ResultStore store(file_);
    Added added;
    read_runs(from, {}, Runs::ours, [&](RunRecord&& record) { added += store.add(record); });
    return added;
  }

  double best_ms() const {
    const ResultStore store(file_, ResultStore::Mode::read_only);
    return store.best({}, true).at(0).result.measurement.median_ms;
  }

  /// Runs SQL that no command of ours would run.
  void spoil(const char* sql) const {
    const Connection connection(file_, OpenMode::read_write, 0);
    connection.execute("PRAGMA foreign_keys = OFF");
    connection.execute(sql);
  }

  const fs::path file_ = folder() / "results.sqlite";
  const fs::path other_ = folder() / "other.sqlite";
};

TEST_F(Maintenance, FindsNothingWrongInWhatRunsAndMergesMade) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 2}, {32, 1.5}});
  tune(store, "run-2", {{16, 1}, {64, 3}});
  ResultStore other(other_);
  tune(other, "run-3", {{32, 0.5}, {8, 4}});
  merge(other_);
  EXPECT_THAT(find_faults(file_), IsEmpty());
}

TEST_F(Maintenance, FindsWhatContradictsItself) {
  const std::pair<const char*, const char*> spoilt[] = {
      {"UPDATE best SET result_id = 1", "1 best that does not follow from the results"},
      {"DELETE FROM best", "1 best that does not follow from the results"},
      {"UPDATE result SET median_ms = 9 WHERE id = 1",
       "1 result that contradicts itself: result 1 of run run-1: time.median_ms 9 is above "
       "time.max_ms 2"},
      {"UPDATE result SET samples = x'00' WHERE id = 1", "another number of samples"},
      {"UPDATE run SET origin_id = 7", "of a file that is not known"},
      {"UPDATE device_model SET imported = 1", "imported results among our own"},
      {"UPDATE result SET launches_json = '{' WHERE id = 1", "launches_json"},
      {"UPDATE result SET stage = 'race', launches_json = '{' WHERE id = 2", "run run-1: "},
      {"UPDATE configuration SET values_json = '{' WHERE id = 2", "configuration 2: "},
      {"UPDATE problem SET values_json = '[' WHERE id = 1", "problem 1: "},
      {"DELETE FROM configuration WHERE id = 1", "refers to one of configuration"}};
  for (const auto& [sql, fault] : spoilt) {
    fs::remove(file_);
    ResultStore store(file_);
    tune(store, "run-1", {{16, 2}, {32, 1.5}});
    spoil(sql);
    EXPECT_THAT(find_faults(file_), testing::Contains(HasSubstr(fault))) << sql;
  }
}

TEST_F(Maintenance, ListsAtMostTwentyFaults) {
  ResultStore store(file_);
  std::vector<Timing> times;
  for (int tile = 1; tile <= 30; ++tile) times.push_back({tile, 1});
  tune(store, "run-1", times);
  spoil("UPDATE configuration SET values_json = '{'");
  const std::vector<std::string> faults = find_faults(file_);
  ASSERT_THAT(faults, testing::SizeIs(21));
  EXPECT_EQ(faults.back(), "and 10 more faults");
}

TEST_F(Maintenance, MergingJoinsWhatIsMeasuredOnOneModel) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 2}});
  ResultStore other(other_);
  tune(other, "run-2", {{16, 1}, {32, 1.5}});
  const Added added = merge(other_);
  EXPECT_EQ(2u, added.added);
  EXPECT_EQ(1, best_ms());
  EXPECT_THAT(store.results({}), SizeIs(3));
  EXPECT_THAT(store.devices(), SizeIs(1));
  const Added again = merge(other_);
  EXPECT_EQ(0u, again.added + again.conflicting);
  EXPECT_EQ(2u, again.known);

  const RunRecord copied = store.record_of("run-2");
  const RunRecord original = other.record_of("run-2");
  EXPECT_EQ("complete", copied.outcome);
  EXPECT_EQ(original.run.device, copied.run.device);
  EXPECT_EQ(original.run.started_unix, copied.run.started_unix);
  ASSERT_EQ(original.entries.size(), copied.entries.size());
  for (std::size_t i = 0; i < copied.entries.size(); ++i) {
    EXPECT_EQ(original.entries[i].result, copied.entries[i].result);
    EXPECT_EQ(original.entries[i].number, copied.entries[i].number);
    EXPECT_EQ(original.entries[i].at_unix, copied.entries[i].at_unix);
  }
}

TEST_F(Maintenance, MergingKeepsBothOfTwoResultsWithOneNumber) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 2}});
  ResultStore other(other_);
  tune(other, "run-1", {{16, 1}});
  const Added added = merge(other_);
  EXPECT_EQ(1u, added.conflicting);
  EXPECT_THAT(store.results({}), SizeIs(2));
  EXPECT_EQ(0u, merge(other_).added);
  EXPECT_THAT(find_faults(file_), IsEmpty());
}

TEST_F(Maintenance, MergingKeepsWhatWasImportedApart) {
  ResultStore other(other_);
  tune(other, "run-1", {{16, 1}});
  ResultStore theirs(folder() / "theirs.sqlite");
  read_runs(other_, {}, Runs::imported, [&](RunRecord&& record) { theirs.add(record); });
  ResultStore store(file_);
  tune(store, "run-2", {{16, 3}});
  EXPECT_EQ(1u, merge(folder() / "theirs.sqlite").added);
  EXPECT_EQ(1u, merge(folder() / "theirs.sqlite").known);
  EXPECT_EQ(3, best_ms());
  EXPECT_THAT(store.results({.source = "imported"}), SizeIs(1));
  EXPECT_THAT(find_faults(file_), IsEmpty());
}

TEST_F(Maintenance, MergingTakesNoFilesOfOtherTuners) {
  std::ofstream(folder() / "t4.json") << R"({"results": []})";
  EXPECT_THROW(merge(folder() / "t4.json"), InputError);
}

TEST_F(Maintenance, SummarizesByDeviceAndSpace) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 2}, {32, 1}, {32, 1.1}});  // One configuration was measured twice.
  tune(store, "run-2", {{64, 3}});
  const DatabaseSummary summary = summarize_database(file_);
  EXPECT_EQ(fs::file_size(file_), summary.bytes);
  ASSERT_THAT(summary.parts, SizeIs(1));
  EXPECT_EQ("gemm", summary.parts[0].space);
  EXPECT_EQ(2u, summary.parts[0].runs);
  EXPECT_EQ(3u, summary.parts[0].results);
  EXPECT_EQ(3u, summary.parts[0].correct);
  EXPECT_GT(summary.parts[0].last_unix, 0);
  EXPECT_EQ("", summary.parts[0].source);
}

TEST_F(Maintenance, CopiesADatabaseAndNeverOverAFile) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 2}});
  const fs::path copy = folder() / "copy.sqlite";
  back_up_database(file_, copy);
  EXPECT_EQ(fs::perms(0600), fs::status(copy).permissions());
  EXPECT_THAT(ResultStore(copy, ResultStore::Mode::read_only).results({}), SizeIs(1));
  std::ofstream(folder() / "precious") << "text";
  EXPECT_THROW(back_up_database(file_, folder() / "precious"), InputError);
  EXPECT_EQ(4u, fs::file_size(folder() / "precious"));
}

TEST_F(Maintenance, PrunesWhatItSaidAndChoosesTheBestAnew) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 1}, {32, 2}});
  tune(store, "run-2", {{64, 3}});
  const PruneRule rule = {.query = {.run = "run-1", .source = "all"}, .before_unix = {}};
  const Pruned said = would_prune(file_, rule);
  EXPECT_EQ(2u, said.results);
  EXPECT_EQ(1u, said.bests);
  EXPECT_EQ(1u, said.runs);
  EXPECT_THAT(store.results({}), SizeIs(3));
  const Pruned done = prune(file_, rule);
  EXPECT_EQ(said.results, done.results);
  EXPECT_THAT(store.results({}), SizeIs(1));
  EXPECT_THAT(store.runs({}), SizeIs(1));
  EXPECT_EQ(3, best_ms());
  EXPECT_THAT(find_faults(file_), IsEmpty());
}

/// Stores a run on a GPU of this name.
void tune_on(ResultStore& store, const std::string& device, const std::string& id, double ms) {
  smemtune::Run run;
  run.id = id;
  run.space = "gemm";
  run.space_json = R"({"name": "gemm"})";
  run.device = h200_limits();
  run.device.name = device;
  run.device.uuid = "GPU-" + device;
  run.started_unix = 1e9;
  const auto log = store.begin_run(run);
  Result result;
  result.kernel = "tiled";
  result.problem = {{"N", std::int64_t{4096}}};
  result.configuration = {{"TILE", std::int64_t{16}}};
  result.stage = Stage::final;
  result.chosen = true;
  result.measurement = summarize(std::array{ms, ms});
  log->record("hash", result);
  store.end_run(id, "complete");
}

PruneRule by_device(const std::string& device) {
  return {.query = {.device = device, .source = "all"}, .before_unix = {}};
}

TEST_F(Maintenance, PrunesTheDeviceThatIsNamedAndNoneWhoseNameContainsIt) {
  ResultStore store(file_);
  for (const char* name :
       {"NVIDIA GeForce RTX 2080", "NVIDIA GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 2080 Super",
        "NVIDIA L40", "Planted GPU 30", "Planted GPU 31", "Planted GPU 3"}) {
    tune_on(store, name, std::string("run on ") + name, 1);
  }
  EXPECT_EQ(0u, would_prune(file_, by_device("L4")).results);
  for (const char* several : {"2080", "GeForce RTX", "planted gpu"}) {
    EXPECT_THROW(would_prune(file_, by_device(several)), InputError) << several;
    EXPECT_THROW(prune(file_, by_device(several)), InputError) << several;
  }
  EXPECT_THAT(store.results({}), SizeIs(7));
  for (const char* one : {"NVIDIA GeForce RTX 2080", "Planted GPU 3", "rtx 2080 super", "l40"}) {
    const Pruned pruned = prune(file_, by_device(one));
    EXPECT_EQ(1u, pruned.results) << one;
    EXPECT_THAT(pruned.parts, SizeIs(1)) << one;
  }
  EXPECT_THAT(store.devices(),
              ElementsAre(testing::Field(&Device::name, "NVIDIA GeForce RTX 2080 Ti"),
                          testing::Field(&Device::name, "Planted GPU 30"),
                          testing::Field(&Device::name, "Planted GPU 31")));
  const PruneRule run = {.query = {.run = "run on Planted GPU 3", .source = "all"},
                         .before_unix = {}};
  EXPECT_THROW(prune(file_, run), InputError);  // Two ids begin with this text.
}

TEST_F(Maintenance, ListsWhatItPrunesByDeviceKernelAndRun) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 1}, {32, 2}});
  tune(store, "run-2", {{64, 3}});
  tune_on(store, "Planted GPU 3", "run-3", 1);
  for (const bool done : {false, true}) {
    const PruneRule rule = {.query = {.space = "gemm", .source = "all"}, .before_unix = {}};
    const Pruned pruned = done ? prune(file_, rule) : would_prune(file_, rule);
    ASSERT_THAT(pruned.parts, SizeIs(2));
    EXPECT_EQ("NVIDIA H200", pruned.parts[0].device);
    EXPECT_EQ("gemm", pruned.parts[0].space);
    EXPECT_EQ("tiled", pruned.parts[0].kernel);
    EXPECT_EQ(3u, pruned.parts[0].results);
    EXPECT_EQ(1u, pruned.parts[0].bests);
    EXPECT_EQ("Planted GPU 3", pruned.parts[1].device);
    ASSERT_THAT(pruned.of_runs, SizeIs(3));
    EXPECT_EQ("run-1", pruned.of_runs[0].id);
    EXPECT_EQ(2u, pruned.of_runs[0].results);
    EXPECT_TRUE(pruned.of_runs[0].goes);
    EXPECT_EQ(done, !pruned.backup.empty());
  }
}

/// Returns everything that is stored, without the ids of rows that other rows refer to.
std::vector<std::string> rows(const fs::path& file) {
  const Connection connection(file, Connection::Mode::read_only, 0);
  std::vector<std::string> lines;
  for (
      const char* sql :
      {"SELECT result.id || ' ' || run.uid || ' ' || number || ' ' || device_model.name || ' ' || "
       "kernel.name || kernel.hash || ' ' || configuration.key || ' ' || problem.key || ' ' || "
       "status || ' ' || stage || ' ' || chosen || ' ' || coalesce(median_ms, '') || ' ' || "
       "result.at_unix || ' ' || coalesce(hex(samples), '') AS line FROM result "
       "JOIN run ON run.id = run_id JOIN device_model ON device_model.id = model_id "
       "JOIN kernel ON kernel.id = kernel_id JOIN problem ON problem.id = problem_id "
       "JOIN configuration ON configuration.id = configuration_id ORDER BY result.id",
       "SELECT 'best ' || device_model.name || kernel.hash || result_id || stage AS line FROM best "
       "JOIN device_model ON device_model.id = model_id JOIN kernel ON kernel.id = kernel_id "
       "ORDER BY 1",
       "SELECT 'current ' || device_model.name || kernel.hash AS line FROM current_kernel "
       "JOIN device_model ON device_model.id = model_id JOIN kernel ON kernel.id = kernel_id "
       "ORDER BY 1",
       "SELECT 'run ' || uid || space_json || outcome || started_unix || coalesce(origin.file, '') "
       "|| coalesce(results, 0) || coalesce(correct, 0) AS line FROM run "
       "LEFT JOIN origin ON origin.id = origin_id LEFT JOIN run_count ON run_count.run_id = run.id "
       "ORDER BY 1",
       "SELECT 'attempt ' || run.uid || coalesce(attempt.outcome, '') AS line FROM attempt "
       "JOIN run ON run.id = run_id ORDER BY 1"}) {
    Statement select(connection, sql);
    while (select.step()) lines.push_back(select.text("line"));
  }
  return lines;
}

class UndoTest : public Maintenance {
 protected:
  /// Stores runs of ours on several devices, of two versions of a kernel, one of them without a
  /// result, and an import.
  void fill(ResultStore& store) {
    tune(store, "run-1", {{16, 1}, {32, 2}}, "before");
    tune_on(store, "NVIDIA L4", "run-2", 2);
    tune(store, "run-3", {{16, 3}, {64, 0.5}}, "hash");
    tune_on(store, "NVIDIA H200", "run-4", 1.5);
    ResultStore theirs(other_);
    tune(theirs, "run-5", {{8, 0.25}});
    read_runs(other_, {}, Runs::imported, [&](RunRecord&& record) { store.add(record); });
    smemtune::Run begun;
    begun.id = "run-6";
    begun.space = "scan";
    begun.space_json = "{}";
    begun.device = h200_limits();
    begun.device.uuid = "GPU-1";
    store.begin_run(begun)->begin_attempt(
        {.kernel_hash = "h", .kernel = "k", .problem = {}, .configuration = {}});
    store.end_run("run-6", "failed");
  }
};

TEST_F(UndoTest, BringsBackWhatWasPruned) {
  ResultStore store(file_);
  fill(store);
  const std::vector<std::string> before = rows(file_);
  const PruneRule rules[] = {by_device("L4"),
                             by_device("H200"),
                             {.query = {.source = "all"}, .stale = true, .before_unix = {}},
                             {.query = {.source = "imported"}, .before_unix = {}},
                             {.query = {.run = "run-3", .source = "all"}, .before_unix = {}},
                             {.query = {.space = "scan", .source = "all"}, .before_unix = {}},
                             {.query = {.source = "all"}, .before_unix = 1e12}};
  for (const PruneRule& rule : rules) {
    const Pruned pruned = prune(file_, rule);
    ASSERT_GT(pruned.results + pruned.runs, 0u);
    ASSERT_NE(rows(file_), before);
    const Restored restored = undo_prune(file_);
    EXPECT_EQ(restored.backup, pruned.backup);
    EXPECT_EQ(restored.results, pruned.results);
    EXPECT_EQ(restored.runs, pruned.runs);
    EXPECT_THAT(rows(file_), testing::ElementsAreArray(before));
    EXPECT_THAT(find_faults(file_), IsEmpty());
    EXPECT_THROW(undo_prune(file_), InputError);  // Nothing is left to bring back.
  }
}

TEST_F(UndoTest, KeepsWhatWasMeasuredSinceAndTakesItAsNewer) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 1}, {32, 2}});
  tune(store, "run-2", {{64, 3}, {16, 0.5}});
  prune(file_, {.query = {.run = "run-2", .source = "all"}, .before_unix = {}});
  tune(store, "run-3", {{16, 4}, {8, 2.5}});  // These results reuse the ids of run-2's results.
  prune(file_, {.query = {.run = "run-1", .source = "all"}, .before_unix = {}});
  EXPECT_THAT(store.results({}), SizeIs(2));
  EXPECT_EQ(undo_prune(file_).results, 2u);  // Restores run-1.
  EXPECT_EQ(undo_prune(file_).results, 2u);  // Restores run-2, whose backup is older.
  std::vector<std::string> order;
  for (const StoredResult& one : store.results({})) {
    order.push_back(one.run_id + " " + key(one.result.configuration));
  }
  EXPECT_THAT(order, ElementsAre("run-1 TILE=16", "run-1 TILE=32", "run-2 TILE=64", "run-2 TILE=16",
                                 "run-3 TILE=16", "run-3 TILE=8"));
  EXPECT_EQ(2, best_ms());  // TILE=16 takes 4 ms by its latest measurement.
  EXPECT_THAT(find_faults(file_), IsEmpty());
}

TEST_F(UndoTest, OfWhichNoBackupIsWrittenIsRefused) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 1}});
  EXPECT_THROW(undo_prune(file_), InputError);
  EXPECT_TRUE(prune(file_, by_device("H200"), PruneBackup::none).backup.empty());
  EXPECT_THAT(prune_backups(file_), IsEmpty());
  EXPECT_THROW(undo_prune(file_), InputError);
  EXPECT_THROW(undo_prune(file_, folder() / "none.bak"), Error);
  EXPECT_FALSE(fs::exists(folder() / "none.bak"));
}

TEST_F(UndoTest, WritesNoBackupWhereNothingGoes) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 1}});
  EXPECT_EQ(prune(file_, by_device("A100")).results, 0u);
  EXPECT_THAT(prune_backups(file_), IsEmpty());
}

TEST_F(Maintenance, SaysWhatItWouldPruneOfAFileThatItMayNotWrite) {
  const auto older = std::span(migrations()).first(1);
  open_database(file_, OpenMode::read_write, 0, older);
  const std::string before = contents(file_);
  EXPECT_EQ(0u, would_prune(file_, {.query = {.run = "run-1"}, .before_unix = {}}).results);
  EXPECT_EQ(before, contents(file_)) << "a version that an older smemtune writes was migrated";
  EXPECT_FALSE(fs::exists(file_.string() + ".v1.bak"));
  // A newer version, which is never written.
  ResultStore store(file_);
  tune(store, "run-1", {{16, 1}});
  Connection(file_, OpenMode::read_write, 0)
      .execute("PRAGMA user_version = 99; ALTER TABLE run ADD COLUMN note TEXT");
  const PruneRule rule = {.query = {.run = "run-1", .source = "all"}, .before_unix = {}};
  EXPECT_EQ(1u, would_prune(file_, rule).results);
  EXPECT_THROW(prune(file_, rule), StoreError);
}

TEST_F(Maintenance, PrunesResultsOfEditedKernels) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 1}}, "before");
  tune(store, "run-2", {{16, 2}}, "after");
  EXPECT_EQ(1u, prune(file_, {.stale = true, .before_unix = {}}).results);
  EXPECT_EQ(2, best_ms());
  EXPECT_EQ(0u, prune(file_, {.stale = true, .before_unix = {}}).results);
}

TEST_F(Maintenance, PrunesASpaceADeviceOrAKernelThatIsGoneWithAllThatWasOnlyTheirs) {
  ResultStore store(file_);
  tune(store, "run-1", {{16, 1}, {32, 2}});
  Device gone = h200_limits();
  gone.name = "GPU of old";
  gone.uuid = "GPU-2";
  const auto begin = [&](const std::string& id, const std::string& space) {
    smemtune::Run run;
    run.id = id;
    run.space = space;
    run.device = gone;
    return store.begin_run(run);
  };
  const auto record = [](ResultLog& log, const std::string& kernel, std::int64_t size) {
    Result result;
    result.kernel = kernel;
    result.problem = {{"N", size}};
    result.configuration = {{"TILE", size}};
    result.status = Status::compile;
    result.reason = "error";
    log.record("hash", result);
  };
  record(*begin("run-2", "scan"), "kogge_stone", 8);
  store.end_run("run-2", "complete");
  record(*begin("run-3", "gemm"), "kogge_stone", 16);
  store.end_run("run-3", "complete");
  begin("run-4", "scan");  // This run never had a result.
  store.end_run("run-4", "failed");

  const auto by = [](const Query& query) { return PruneRule{.query = query, .before_unix = {}}; };
  const Pruned space = prune(file_, by({.space = "scan", .source = "all"}));
  EXPECT_EQ(1u, space.results);
  EXPECT_EQ(2u, space.runs);
  EXPECT_EQ(0u, would_prune(file_, by({.space = "scan", .source = "all"})).runs);
  EXPECT_THAT(store.kernels(), ElementsAre("kogge_stone", "tiled"));
  EXPECT_EQ(1u, prune(file_, by({.kernel = "kogge_stone", .source = "all"})).results);
  EXPECT_THAT(store.kernels(), ElementsAre("tiled"));
  EXPECT_THAT(store.devices(), SizeIs(1));

  record(*begin("run-5", "gemm"), "tiled", 16);
  store.end_run("run-5", "complete");
  EXPECT_THAT(store.devices(), SizeIs(2));
  EXPECT_EQ(1u, prune(file_, by({.device = "of old", .source = "all"})).results);
  EXPECT_THAT(store.devices(), SizeIs(1));
  EXPECT_EQ(1, best_ms());
  EXPECT_THAT(store.runs({}), SizeIs(1));
  EXPECT_THAT(find_faults(file_), IsEmpty());
  EXPECT_EQ(2u, prune(file_, by({.space = "gemm", .source = "all"})).results);
  const Connection connection(file_, Connection::Mode::read_only, 0);
  for (const char* table : {"space", "problem", "kernel", "configuration", "environment",
                            "device_unit", "device_model", "run", "attempt", "best"}) {
    EXPECT_EQ(0, connection.integer(("SELECT count(*) FROM " + std::string(table)).c_str()))
        << table;
  }
}

TEST_F(Maintenance, LeavesARunThatIsUnderWay) {
  ResultStore store(file_);
  smemtune::Run run;
  run.id = "run-1";
  run.space = "gemm";
  run.device = h200_limits();
  run.device.uuid = "GPU-1";
  const auto log = store.begin_run(run);
  Result result;
  result.kernel = "tiled";
  result.status = Status::compile;
  result.reason = "error";
  log->record("hash", result);
  EXPECT_EQ(0u, prune(file_, {.query = {.run = "run-1"}, .before_unix = {}}).runs);
  log->record("hash", result);
  EXPECT_THAT(store.results({}), SizeIs(1));
}

}  // namespace
}  // namespace smemtune::db
