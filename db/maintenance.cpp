#include "db/maintenance.h"

#include "db/bests.h"
#include "db/columns.h"
#include "db/contradictions.h"
#include "db/database_file.h"
#include "db/process_name.h"
#include "db/result_sql.h"
#include "db/run_log.h"
#include "db/run_rows.h"
#include "db/stored_names.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"
#include "tuner/core/whole_file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <future>
#include <set>
#include <unistd.h>
#include <utility>

namespace smemtune::db {

namespace {

constexpr std::size_t kMostFaults = 20;

/// Counts rows that contradict others, in one pass over the results.
constexpr const char* kCountContradictions = R"sql(
    SELECT sum(samples IS NOT NULL AND length(samples) <> 4 * sample_count) AS of_samples,
           sum(device_unit.model_id <> result.model_id) AS of_device,
           sum((run.origin_id <> 0) <> (device_model.imported <> 0)) AS of_import,
           (SELECT count(*) FROM run
            WHERE origin_id <> 0 AND origin_id NOT IN (SELECT id FROM origin)) AS of_origin
    FROM result
    LEFT JOIN environment ON environment.id = result.environment_id
    LEFT JOIN device_unit ON device_unit.id = environment.unit_id
    LEFT JOIN device_model ON device_model.id = result.model_id
    LEFT JOIN run ON run.id = result.run_id)sql";

/// Describes the rows that a column of kCountContradictions counts.
struct Contradiction {
  const char* column;
  const char* noun;
  const char* what;
};
constexpr Contradiction kContradictions[] = {
    {"of_samples", "result", "with another number of samples than is said"},
    {"of_device", "result", "of another device than the environment's"},
    {"of_import", "imported result", "among our own, or the other way round"},
    {"of_origin", "imported run", "of a file that is not known"}};

/// Number of results that contradict themselves, and a description of the first.
struct Contradicting {
  std::uint64_t count = 0;
  std::string first = {};

  std::string text() const {
    return counted(count, "result") +
           (count == 1 ? " that contradicts itself: "
                       : " that contradict themselves, the first: ") +
           first;
  }
};

/// A run, and what is wrong with its results.
struct CheckedRun {
  std::int64_t id = 0;
  std::string uid;
  std::optional<Origin> origin;
  std::string fault;
  Contradicting contradicting;
};

std::vector<CheckedRun> read_runs(const Connection& connection) {
  std::vector<CheckedRun> runs;
  Statement select(connection, run_origins_sql());
  while (select.step()) {
    runs.push_back({.id = select.integer("run_id"),
                    .uid = select.text("uid"),
                    .origin = read_origin(select),
                    .fault = {},
                    .contradicting = {}});
  }
  return runs;
}

/// Reads the results of those runs that nobody has taken, in the same way as commands do. What they
/// refer to is left out, as look_at_names() reads it.
void look_at_results(const Connection& connection, std::vector<CheckedRun>& runs,
                     std::atomic<std::size_t>& next) {
  Statement results(connection, R"sql(
    SELECT *, '' AS kernel_name, '{}' AS problem_json, '{}' AS configuration_json, '' AS uuid
    FROM result WHERE run_id = :run ORDER BY number)sql");
  for (std::size_t i = next++; i < runs.size(); i = next++) {
    CheckedRun& run = runs[i];
    StoredResult stored;
    stored.origin = run.origin;
    try {
      results.bind(":run", run.id);
      while (results.step()) {
        stored.result = read_result(results);
        forget_untold(stored);
        const auto what = contradiction(stored.result, stored.origin.has_value());
        if (!what || ++run.contradicting.count > 1) continue;
        run.contradicting.first = "result " + std::to_string(results.integer("number")) +
                                  " of run " + run.uid + ": " + *what;
      }
    } catch (const SqliteError&) {
      throw;
    } catch (const StoreError& error) {
      run.fault = "run " + run.uid + ": " + error.what();
      results.reset();
    }
  }
}

/// Reads every problem, configuration and device model in the same way as commands do.
void look_at_names(const Connection& connection, std::vector<std::string>& faults) {
  const auto look = [&](const std::string& table, auto read) {
    Statement rows(connection, "SELECT * FROM " + table);
    while (rows.step()) {
      try {
        read(rows);
      } catch (const StoreError& error) {
        faults.push_back(table + " " + std::to_string(rows.integer("id")) + ": " + error.what());
      }
    }
  };
  const auto read_values = [](const Statement& row) { bindings_from_json(row, "values_json"); };
  look("problem", read_values);
  look("configuration", read_values);
  look("device_model", read_model);
}

/// Adds what look_at_results() found.
void add_faults(const std::vector<CheckedRun>& runs, DatabaseFaults& found) {
  // Keyed by imported file; the empty key is for our own results.
  std::map<std::string, Contradicting> contradicting;
  for (const CheckedRun& run : runs) {
    if (!run.fault.empty()) found.faults.push_back(run.fault);
    if (run.contradicting.count == 0) continue;
    Contradicting& of = contradicting[run.origin ? run.origin->file : ""];
    if (of.count == 0) of.first = run.contradicting.first;
    of.count += run.contradicting.count;
  }
  for (const auto& [source, of] : contradicting) {
    if (source.empty()) {
      found.faults.push_back(of.text());
    } else {
      found.notes.push_back("imported from " + source + ": " + of.text());
    }
  }
}

void find_wrong_bests(const Connection& connection, std::vector<std::string>& faults) {
  std::map<ResultGroup, std::int64_t> stored;
  Statement bests(connection, "SELECT model_id, kernel_id, problem_id, result_id FROM best");
  while (bests.step()) stored[read_group(bests)] = bests.integer("result_id");
  std::uint64_t wrong = 0;
  Statement groups(connection, "SELECT DISTINCT model_id, kernel_id, problem_id FROM result");
  while (groups.step()) {
    const ResultGroup group = read_group(groups);
    const auto its = stored.find(group);
    const auto right = best_result(connection, group);
    const bool is_stored = its != stored.end();
    const bool is_right = is_stored ? right && *right == its->second : !right;
    if (!is_right) ++wrong;
    if (is_stored) stored.erase(its);
  }
  wrong += stored.size();
  if (wrong > 0)
    faults.push_back(counted(wrong, "best") + (wrong == 1 ? " that does" : " that do") +
                     " not follow from the results");
}

/// Returns what is wrong with the pages and the indices.
std::vector<std::string> find_damage(const Connection& connection) {
  std::vector<std::string> faults;
  Statement pages(connection, "PRAGMA integrity_check(" + std::to_string(kMostFaults) + ")");
  while (pages.step()) {
    if (std::string line = pages.text("integrity_check"); line != "ok")
      faults.push_back(std::move(line));
  }
  return faults;
}

void find_broken_references(const Connection& connection, std::vector<std::string>& faults) {
  Statement references(connection, "PRAGMA foreign_key_check");
  while (references.step() && faults.size() < kMostFaults) {
    faults.push_back("a row of " + references.text("table") + " refers to one of " +
                     references.text("parent") + " that does not exist");
  }
}

void count_contradictions(const Connection& connection, std::vector<std::string>& faults) {
  Statement counts(connection, kCountContradictions);
  counts.step();
  for (const auto& [column, noun, what] : kContradictions) {
    const auto rows = static_cast<std::uint64_t>(counts.integer(column));
    if (rows > 0) faults.push_back(counted(rows, noun) + " " + what);
  }
}

/// Fills the temporary table `gone` with the results that the rule selects.
void collect(const Connection& connection, const PruneRule& rule) {
  connection.execute(
      "CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY, run_id INTEGER, model_id INTEGER, "
      "kernel_id INTEGER, problem_id INTEGER)");
  const Query query = exact_query(connection, rule.query);
  Statement insert(connection, prune_sql(query));
  bind_query(insert, connection, query);
  insert.bind(":versions", versions_json(query));
  insert.bind(":stale", rule.stale).bind(":before", rule.before_unix).run();
}

/// Returns true if the run in this row may still be active.
bool may_be_under_way(const Statement& run) {
  const double now = unix_now();
  return run.is_null("ended_unix") &&
         may_be_alive(run.text("process"), now - run.real("started_unix"), now);
}

/// Returns the runs that are not active and have no result left once the collected results are
/// removed. These are runs that lose results, and, if the rule concerns whole runs, the runs that
/// it selects.
std::vector<std::int64_t> emptied_runs(const Connection& connection, const PruneRule& rule) {
  const Query query = exact_query(connection, rule.query);
  const bool means_runs = !rule.stale && query.kernel.empty() && query.problem.empty() &&
                          query.status.empty() && query.kernel_hash.empty();
  std::vector<std::int64_t> runs;
  Statement loses(connection, "SELECT 1 FROM gone WHERE run_id = :run LIMIT 1");
  Statement keeps(connection, R"sql(
    SELECT 1 FROM result WHERE run_id = :run AND id NOT IN (SELECT id FROM gone) LIMIT 1)sql");
  Statement select = select_runs(connection, query);
  while (select.step()) {
    const std::int64_t run = select.integer("run_id");
    const bool is_old = !rule.before_unix || select.real("started_unix") < *rule.before_unix;
    if (!(means_runs && is_old) && !loses.bind(":run", run).has_row()) continue;
    if (!keeps.bind(":run", run).has_row() && !may_be_under_way(select)) runs.push_back(run);
  }
  return runs;
}

/// Removes rows that nothing refers to any more, unless a run is active: it looks some of them up
/// only once.
void remove_unused(const Connection& connection) {
  Statement open(connection, "SELECT process, started_unix, ended_unix FROM run");
  while (open.step()) {
    if (may_be_under_way(open)) return;
  }
  connection.execute(R"sql(
    DELETE FROM current_kernel
      WHERE NOT EXISTS (SELECT 1 FROM kernel JOIN result ON result.kernel_id = kernel.id
                          AND result.model_id = current_kernel.model_id
                        WHERE kernel.space_id = current_kernel.space_id
                          AND kernel.name = current_kernel.name);
    DELETE FROM kernel
      WHERE id NOT IN (SELECT kernel_id FROM current_kernel)
        AND id NOT IN (SELECT kernel_id FROM result) AND id NOT IN (SELECT kernel_id FROM attempt);
    DELETE FROM problem
      WHERE id NOT IN (SELECT problem_id FROM result)
        AND id NOT IN (SELECT problem_id FROM attempt);
    DELETE FROM space
      WHERE id NOT IN (SELECT space_id FROM run) AND id NOT IN (SELECT space_id FROM kernel)
        AND id NOT IN (SELECT space_id FROM problem)
        AND id NOT IN (SELECT space_id FROM configuration);
    DELETE FROM environment
      WHERE id NOT IN (SELECT environment_id FROM run)
        AND id NOT IN (SELECT environment_id FROM result);
    DELETE FROM device_unit WHERE id NOT IN (SELECT unit_id FROM environment);
    DELETE FROM device_model
      WHERE id NOT IN (SELECT model_id FROM device_unit)
        AND id NOT IN (SELECT model_id FROM attempt)
        AND id NOT IN (SELECT model_id FROM current_kernel))sql");
}

void remove_collected(const Connection& connection, const std::vector<std::int64_t>& runs) {
  std::set<ResultGroup> touched;
  Statement groups(connection, "SELECT DISTINCT model_id, kernel_id, problem_id FROM gone");
  while (groups.step()) touched.insert(read_group(groups));
  connection.execute(
      "DELETE FROM best WHERE result_id IN (SELECT id FROM gone);"
      "DELETE FROM result WHERE id IN (SELECT id FROM gone)");
  for (const ResultGroup& group : touched) choose_best(connection, group);
  Statement counted_runs(connection, "SELECT DISTINCT run_id FROM gone");
  while (counted_runs.step()) {
    const std::int64_t run = counted_runs.integer("run_id");
    keep_counts(connection, run, count_results(connection, run));
  }
  Statement remove_count(connection, "DELETE FROM run_count WHERE run_id = :run");
  Statement remove_attempts(connection, "DELETE FROM attempt WHERE run_id = :run");
  Statement remove_run(connection, "DELETE FROM run WHERE id = :run");
  for (const std::int64_t run : runs) {
    remove_count.bind(":run", run).run();
    remove_attempts.bind(":run", run).run();
    remove_run.bind(":run", run).run();
  }
  connection.execute(R"sql(
    DELETE FROM configuration
      WHERE id NOT IN (SELECT configuration_id FROM result)
        AND id NOT IN (SELECT configuration_id FROM attempt);
    DELETE FROM origin WHERE id NOT IN (SELECT origin_id FROM run))sql");
  remove_unused(connection);
}

std::uint64_t count(const Connection& connection, const char* sql) {
  return static_cast<std::uint64_t>(connection.integer(sql));
}

std::vector<Pruned::Part> parts_of_collected(const Connection& connection) {
  Statement select(connection, R"sql(
    SELECT device_model.name AS device, space.name AS space, kernel.name AS kernel,
           coalesce(origin.file, '') AS source, count(*) AS results,
           count(best.result_id) AS bests
    FROM gone
    JOIN device_model ON device_model.id = gone.model_id
    JOIN kernel ON kernel.id = gone.kernel_id
    JOIN space ON space.id = kernel.space_id
    JOIN run ON run.id = gone.run_id
    LEFT JOIN origin ON origin.id = run.origin_id
    LEFT JOIN best ON best.model_id = gone.model_id AND best.problem_id = gone.problem_id
      AND best.kernel_id = gone.kernel_id AND best.result_id = gone.id
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4)sql");
  std::vector<Pruned::Part> parts;
  while (select.step()) {
    parts.push_back({.device = select.text("device"),
                     .space = select.text("space"),
                     .kernel = select.text("kernel"),
                     .source = select.text("source"),
                     .results = static_cast<std::uint64_t>(select.integer("results")),
                     .bests = static_cast<std::uint64_t>(select.integer("bests"))});
  }
  return parts;
}

/// Returns the runs that lose collected results, and the `emptied` ones, which are removed.
std::vector<Pruned::OfRun> runs_of_collected(const Connection& connection,
                                             const std::vector<std::int64_t>& emptied) {
  const std::set<std::int64_t> going(emptied.begin(), emptied.end());
  Statement select(connection, R"sql(
    WITH lost AS (SELECT run_id, count(*) AS results FROM gone GROUP BY run_id)
    SELECT run.id, run.uid, run.started_unix, space.name AS space, device_model.name AS device,
           coalesce(lost.results, 0) AS results
    FROM )sql" + runs_from() + R"sql(
    LEFT JOIN lost ON lost.run_id = run.id
    ORDER BY run.started_unix, run.id)sql");
  std::vector<Pruned::OfRun> runs;
  while (select.step()) {
    const bool goes = going.contains(select.integer("id"));
    if (!goes && select.integer("results") == 0) continue;
    runs.push_back({.id = select.text("uid"),
                    .started_unix = select.real("started_unix"),
                    .device = select.text("device"),
                    .space = select.text("space"),
                    .results = static_cast<std::uint64_t>(select.integer("results")),
                    .goes = goes});
  }
  return runs;
}

/// Summarizes the collected results and the `runs` that are left without results.
Pruned summarize_pruned(const Connection& connection, const std::vector<std::int64_t>& runs) {
  Pruned pruned = {.results = count(connection, "SELECT count(*) FROM gone"),
                   .runs = runs.size(),
                   .parts = parts_of_collected(connection),
                   .of_runs = runs_of_collected(connection, runs),
                   .backup = {}};
  for (const Pruned::Part& part : pruned.parts) pruned.bests += part.bests;
  return pruned;
}

/// Returns a name like `FILE.pruned-20261125T091700.123Z.bak`: the names sort by time.
std::filesystem::path prune_backup_name(const std::filesystem::path& file) {
  const double now = unix_now();
  const auto seconds = static_cast<std::time_t>(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, ".pruned-%Y%m%dT%H%M%S", &parts);
  const int milliseconds = static_cast<int>((now - static_cast<double>(seconds)) * 1000) % 1000;
  std::snprintf(text + size, sizeof text - size, ".%03dZ.bak", milliseconds);
  return file.string() + text;
}

/// Writes a new backup beside the file and returns its path.
std::filesystem::path back_up_beside(const std::filesystem::path& file) {
  std::filesystem::path backup = prune_backup_name(file);
  std::error_code ignored;
  while (std::filesystem::exists(backup, ignored)) backup = prune_backup_name(file);
  try {
    back_up_database(file, backup);
    sync_folder_of(backup);
  } catch (const Error& error) {
    throw StoreError(std::string(error.what()) +
                     "; nothing was removed (--no-backup removes without a backup)");
  }
  return backup;
}

/// Removes from the collected results, and from `runs`, what the backup does not contain because it
/// was stored after the backup was written.
void keep_newer_than(const std::filesystem::path& backup, const Connection& connection,
                     std::vector<std::int64_t>& runs) {
  const Connection copy = open_database(backup, OpenMode::read_only);
  Statement find(copy, R"sql(
    SELECT 1 FROM result JOIN run ON run.id = result.run_id
    WHERE result.id = :id AND run.uid = :uid AND result.at_unix = :at)sql");
  Statement collected(connection, R"sql(
    SELECT gone.id, run.uid, result.at_unix FROM gone JOIN result ON result.id = gone.id
    JOIN run ON run.id = gone.run_id)sql");
  std::vector<std::int64_t> newer;
  while (collected.step()) {
    const std::int64_t id = collected.integer("id");
    find.bind(":id", id).bind(":uid", collected.text("uid")).bind(":at", collected.real("at_unix"));
    if (!find.has_row()) newer.push_back(id);
  }
  Statement keep(connection, "DELETE FROM gone WHERE id = :id");
  for (const std::int64_t id : newer) keep.bind(":id", id).run();
  Statement run_of(connection, "SELECT uid FROM run WHERE id = :id");
  Statement has_result(connection, R"sql(
    SELECT 1 FROM result WHERE run_id = :id AND id NOT IN (SELECT id FROM gone) LIMIT 1)sql");
  Statement find_run(copy, "SELECT 1 FROM run WHERE uid = :uid");
  std::erase_if(runs, [&](std::int64_t run) {
    run_of.bind(":id", run).step();
    const std::string uid = run_of.text("uid");
    run_of.reset();
    return !find_run.bind(":uid", uid).has_row() || has_result.bind(":id", run).has_row();
  });
}

/// Removes what the rule selects, except for what the backup, if there is one, does not contain.
Pruned remove(const std::filesystem::path& file, const PruneRule& rule,
              const std::filesystem::path& backup) {
  const Connection connection = open_database(file, OpenMode::read_write);
  // References are checked once at the end: checking them for each removed row would take a search
  // each.
  connection.execute("PRAGMA foreign_keys = OFF");
  Transaction transaction(connection);
  collect(connection, rule);
  std::vector<std::int64_t> runs = emptied_runs(connection, rule);
  if (!backup.empty()) keep_newer_than(backup, connection, runs);
  Pruned pruned = summarize_pruned(connection, runs);
  pruned.backup = backup;
  remove_collected(connection, runs);
  if (Statement(connection, "PRAGMA foreign_key_check").step()) {
    throw StoreError(file.string() +
                     ": other rows refer to what would be removed; nothing was removed");
  }
  transaction.commit();
  return pruned;
}

}  // namespace

DatabaseFaults check_database(const std::filesystem::path& file) {
  const Connection connection = open_database(file, OpenMode::read_only);
  std::vector<CheckedRun> runs = read_runs(connection);
  std::atomic<std::size_t> next = 0;
  // Holding every index against its table takes about as long as reading what they say, so a second
  // thread does that first.
  auto damage = std::async(std::launch::async, [&] {
    const Connection its = open_database(file, OpenMode::read_only);
    std::vector<std::string> faults = find_damage(its);
    if (faults.empty()) look_at_results(its, runs, next);
    return faults;
  });
  DatabaseFaults found;
  try {
    find_broken_references(connection, found.faults);
    count_contradictions(connection, found.faults);
    find_wrong_bests(connection, found.faults);
    look_at_names(connection, found.faults);
    look_at_results(connection, runs, next);
  } catch (const StoreError&) {
    next = runs.size();
    if (auto faults = damage.get(); !faults.empty())
      return {.faults = std::move(faults), .notes = {}};
    throw;
  }
  // The contents of a damaged database cannot be trusted.
  if (auto faults = damage.get(); !faults.empty())
    return {.faults = std::move(faults), .notes = {}};
  add_faults(runs, found);
  if (const std::size_t all = found.faults.size(); all > kMostFaults) {
    found.faults.resize(kMostFaults);
    found.faults.push_back("and " + counted(all - kMostFaults, "more fault"));
  }
  return found;
}

std::vector<std::string> find_faults(const std::filesystem::path& file) {
  return check_database(file).faults;
}

DatabaseSummary summarize_database(const std::filesystem::path& file) {
  const Connection connection = open_database(file, OpenMode::read_only);
  DatabaseSummary summary = {.version = connection.integer("PRAGMA user_version"),
                             .bytes = std::filesystem::file_size(file),
                             .parts = {}};
  Statement select(connection, R"sql(
    SELECT coalesce(origin.file, '') AS source, device_model.name AS device, space.name AS space,
           count(*) AS runs, coalesce(sum(run_count.results), 0) AS results,
           coalesce(sum(run_count.correct), 0) AS correct,
           coalesce(max((SELECT at_unix FROM result WHERE run_id = run.id
                         ORDER BY number DESC LIMIT 1)), -1) AS last_unix
    FROM )sql" + runs_from() + R"sql(
    LEFT JOIN run_count ON run_count.run_id = run.id
    GROUP BY 1, device_model.id, space.id
    ORDER BY 1, 2, 3)sql");
  while (select.step()) {
    summary.parts.push_back({.source = select.text("source"),
                             .device = select.text("device"),
                             .space = select.text("space"),
                             .runs = static_cast<std::uint64_t>(select.integer("runs")),
                             .results = static_cast<std::uint64_t>(select.integer("results")),
                             .correct = static_cast<std::uint64_t>(select.integer("correct")),
                             .last_unix = select.real("last_unix")});
  }
  return summary;
}

void back_up_database(const std::filesystem::path& file, const std::filesystem::path& copy) {
  const Connection source = open_database(file, OpenMode::read_only);
  const int descriptor =
      ::open(copy.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0600);
  if (descriptor < 0) {
    throw InputError(copy.string() + ": the backup cannot be written: " + std::strerror(errno));
  }
  try {
    {
      const Connection target(copy, OpenMode::read_write, 0);
      source.back_up_to(target);
    }
    if (fsync(descriptor) != 0) {
      throw StoreError(copy.string() + ": the backup cannot be written: " + std::strerror(errno));
    }
  } catch (const StoreError&) {
    close(descriptor);
    unlink(copy.c_str());
    throw;
  }
  close(descriptor);
}

Pruned would_prune(const std::filesystem::path& file, const PruneRule& rule) {
  const Connection connection = open_database(file, OpenMode::read_only);
  // Allows a temporary table; the file itself is open for reading only.
  connection.execute("PRAGMA query_only = OFF; BEGIN");
  collect(connection, rule);
  return summarize_pruned(connection, emptied_runs(connection, rule));
}

Pruned prune(const std::filesystem::path& file, const PruneRule& rule, PruneBackup backup) {
  const Pruned would = would_prune(file, rule);
  if (would.results == 0 && would.runs == 0) return would;
  if (backup == PruneBackup::none) return remove(file, rule, {});
  const std::filesystem::path copy = back_up_beside(file);
  try {
    return remove(file, rule, copy);
  } catch (const Error&) {
    unlink(copy.c_str());  // Nothing was removed, because the transaction was rolled back.
    throw;
  }
}

}  // namespace smemtune::db
