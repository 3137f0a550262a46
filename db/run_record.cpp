#include "db/columns.h"
#include "db/result_sql.h"
#include "db/result_store.h"
#include "db/run_log.h"
#include "db/run_rows.h"
#include "tuner/core/hash.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

namespace smemtune::db {

namespace {

/// A run's row.
struct RunRow {
  std::int64_t id = 0;
  std::int64_t model_id = 0;
};

std::optional<RunRow> find_run(const Connection& connection, const std::string& uid) {
  Statement select(connection, R"sql(
    SELECT run.id, device_unit.model_id FROM run
    JOIN environment ON environment.id = run.environment_id
    JOIN device_unit ON device_unit.id = environment.unit_id
    WHERE run.uid = :uid)sql");
  if (!select.bind(":uid", uid).step()) return std::nullopt;
  return RunRow{.id = select.integer("id"), .model_id = select.integer("model_id")};
}

std::int64_t store_origin(const Connection& connection, const Origin& origin) {
  return NewRow()
      .key("file_sha256", origin.file_sha256)
      .key("device", origin.device)
      .set("format", origin.format)
      .set("file", origin.file)
      .set("tool", origin.tool)
      .set("imported_unix", origin.imported_unix)
      .store_in(connection, "origin");
}

/// Returns the id that the run is stored with. Imported runs get an id of their own, so that the
/// contents of a file never become part of a run of ours.
std::string stored_uid(const RunRecord& record) {
  return record.origin ? sha256("imported\n" + record.run.id).substr(0, 32) : record.run.id;
}

/// Makes storing many rows fast during its lifetime. CHECKs and foreign keys are off: for a list of
/// words SQLite builds a table to look one up in, and it looks up every row that a new row refers
/// to, which takes longer than everything else. The rows are valid nevertheless: by the types of
/// their values, by the checks of ResultRows, and because RunAdder takes ids only from rows that it
/// stored or found. Changed pages stay in memory until the commit, so that others can read until
/// then. REQUIRES: no transaction is open when it is created or destroyed.
class ManyRows {
 public:
  explicit ManyRows(const Connection& connection)
      : connection_(connection), cache_(connection.integer("PRAGMA cache_size")) {
    set("ON", "OFF", kCache);
  }
  ~ManyRows() {
    try {
      set("OFF", "ON", cache_);
    } catch (const StoreError& error) {
      std::fprintf(stderr, "smemtune: %s\n", error.what());
    }
  }
  ManyRows(const ManyRows&) = delete;
  ManyRows& operator=(const ManyRows&) = delete;
  ManyRows(ManyRows&&) = delete;
  ManyRows& operator=(ManyRows&&) = delete;

 private:
  /// In KB; negative as SQLite's cache_size expects.
  static constexpr std::int64_t kCache = -(std::int64_t{256} << 10);

  void set(const char* ignore_checks, const char* foreign_keys, std::int64_t cache) {
    connection_.execute((std::string("PRAGMA ignore_check_constraints = ") + ignore_checks +
                         "; PRAGMA foreign_keys = " + foreign_keys +
                         "; PRAGMA cache_size = " + std::to_string(cache))
                            .c_str());
  }

  const Connection& connection_;
  std::int64_t cache_;
};

/// Adds the results of one run, whose record may be replaced by further parts. REQUIRES: a
/// transaction.
class RunAdder {
 public:
  RunAdder(const Connection& connection, const RunRecord& record)
      : connection_(connection),
        record_(record),
        started_unix_(record.run.started_unix),
        subjects_(connection, /*ours=*/false),
        results_(connection),
        find_(connection, R"sql(
          SELECT id, run_id, status, stage, median_ms, mean_ms FROM result
          WHERE model_id = :model AND kernel_id = :kernel AND problem_id = :problem
            AND configuration_id = :configuration)sql"),
        find_moment_(connection, "SELECT at_unix FROM result WHERE id = :id"),
        find_number_(connection, R"sql(
          SELECT model_id, kernel_id, problem_id, configuration_id FROM result
          WHERE run_id = :run AND number = :number)sql"),
        run_(find_run(connection, stored_uid(record))) {
    if (record.origin) own_ = find_run(connection, record.run.id);
    space_id_ = store_space(connection_, record.run.space);
    model_id_ = run_ ? run_->model_id
                     : store_model(connection_, record.run.device, record.origin.has_value());
    if (run_) {
      Statement last(connection_, "SELECT max(number) AS id FROM result WHERE run_id = :run");
      last_number_ = last.bind(":run", run_->id).id();
      counts_ = kept_counts(connection_, run_->id);
    } else {
      counts_ = RunCounts();
      if (!record.origin) {
        // Our own runs are stored even without results: it is known that they were begun.
        store_run_row();
      }
    }
  }

  /// Adds all entries that the record has now.
  void add_all() {
    const double started_unix = record_.run.started_unix;
    if (started_unix_ < 0 || (started_unix >= 0 && started_unix < started_unix_)) {
      started_unix_ = started_unix;
    }
    for (const RunRecord::Entry& entry : record_.entries) add(entry);
  }

  const Added& added() const { return added_; }

  /// Updates what depends on all results. REQUIRES: called once, at the end.
  void finish() {
    for (const ResultGroup& group : touched_) choose_best(connection_, group);
    for (const auto& [name, newest] : current_) make_current(name, newest);
    if (!touched_.empty()) {
      keep_counts(connection_, run_->id, counts_ ? *counts_ : count_results(connection_, run_->id));
    }
    if (run_) note_times();
  }

 private:
  enum class Match { none, same, other };

  /// The stored state of a configuration.
  struct Found {
    Match match = Match::none;
    bool in_run = false;  ///< True if this run has such a result.
  };

  /// The stored results of one configuration, read once for all results that are added to it.
  struct Known {
    /// Status, stage, median and mean; an entry without a mean matches any mean.
    using Measured = std::tuple<Status, Stage, std::optional<double>, std::optional<double>>;
    bool in_run = false;
    std::set<Measured> measured;  ///< Results that a new one may be equal to.
    /// Ids of earlier results whose times are not in `moments` yet.
    std::vector<std::int64_t> ids;
    std::set<double> moments;  ///< Times at which the results were measured.
  };

  void add(const RunRecord::Entry& entry) {
    const Result& result = entry.result;
    const Subject subject = subjects_.store(model_id_, space_id_, entry.kernel_hash, result.kernel,
                                            result.problem, result.configuration);
    Found found;
    if (!subject.is_new) {
      if (own_ && look_for(entry, subject, *own_).match == Match::same) {
        ++added_.known;
        return;
      }
      found = look_for(entry, subject, {.id = run_ ? run_->id : 0, .model_id = model_id_});
      if (found.match == Match::same) {
        ++added_.known;
        return;
      }
    }
    ++(found.match == Match::other ? added_.conflicting : added_.added);
    if (!run_) store_run_row();
    const bool is_free = entry.number > last_number_;
    last_number_ = is_free ? entry.number : last_number_ + 1;
    const std::int64_t stored = results_.store({.run_id = run_->id,
                                                .number = last_number_,
                                                .environment_id = environment_of(result.unit),
                                                .subject = subject,
                                                .at_unix = entry.at_unix},
                                               result);
    if (!first_stored_) first_stored_ = stored;
    note_known(subject, result);
    if (found.in_run) counts_.reset();
    if (counts_) {
      ++counts_->results;
      if (result.status == Status::correct) ++counts_->correct;
    }
    touched_.insert(subject.group);
    if (!entry.stale) note_version(result.kernel, subject.group.kernel_id, entry.at_unix);
  }

  void note_version(const std::string& kernel, std::int64_t kernel_id, double at_unix) {
    Current& current = current_[kernel];
    if (current.kernel_id == 0 || at_unix >= current.at_unix) {
      current = {.kernel_id = kernel_id, .at_unix = at_unix};
    }
  }

  static void note_measured(Known& known, Status status, Stage stage,
                            std::optional<double> median_ms, double mean_ms) {
    known.measured.insert({status, stage, median_ms, std::nullopt});
    known.measured.insert({status, stage, median_ms, mean_ms});
  }

  /// Returns true if a stored result has this one's time. A time that another tuner ranked by
  /// something other than the median is stored with both; earlier releases stored it as the median.
  bool is_measured(const Known& known, const Result& result) const {
    const auto& [status, stage, time] = std::tie(result.status, result.stage, result.measurement);
    if (!result.timed())
      return known.measured.contains({status, stage, std::nullopt, std::nullopt});
    if (!record_.origin)
      return known.measured.contains({status, stage, time.median_ms, std::nullopt});
    return known.measured.contains({status, stage, time.mean_ms, std::nullopt}) ||
           known.measured.contains({status, stage, time.median_ms, time.mean_ms});
  }

  using KnownKey = std::pair<ResultGroup, std::int64_t>;

  static KnownKey key_of(const Subject& subject) {
    return {subject.group, subject.configuration_id};
  }

  /// Returns the stored results of the configuration. An imported result may equal one of any
  /// import, a result of ours only one of the same run.
  Known& known_of(const Subject& subject, const RunRow& run) {
    constexpr std::size_t kMostKept = 200'000;  // About 30 MB.
    if (known_results_ > kMostKept) {
      known_.clear();
      known_results_ = 0;
    }
    const auto [place, is_new] = known_.try_emplace(key_of(subject));
    Known& known = place->second;
    if (!is_new) return known;
    bind_subject(find_, subject);
    const bool any_import = record_.origin && run.model_id == model_id_;
    while (find_.step()) {
      const bool same_run = find_.integer("run_id") == run.id;
      known.in_run = known.in_run || same_run;
      if (!same_run && !any_import) continue;
      Status status = Status::correct;
      Stage stage = Stage::none;
      read_column(find_, "status", status);
      read_column(find_, "stage", stage);
      note_measured(
          known, status, stage,
          find_.is_null("median_ms") ? std::nullopt : std::optional(find_.real("median_ms")),
          find_.real("mean_ms"));
      // Results that this object added do not count, because a file that lists a configuration
      // twice contains two measurements.
      if (!first_stored_ || find_.integer("id") < *first_stored_) {
        known.ids.push_back(find_.integer("id"));
      }
    }
    known_results_ += known.measured.size();
    return known;
  }

  /// Looks for the same measurement of the configuration, with the same or another result.
  Found look_for(const RunRecord::Entry& entry, Subject subject, const RunRow& run) {
    subject.group.model_id = run.model_id;
    Known& known = known_of(subject, run);
    Found found = {.in_run = known.in_run};
    if (is_measured(known, entry.result)) {
      found.match = Match::same;
    } else if (is_same_measurement(entry, known, subject, run)) {
      found.match = Match::other;
    }
    return found;
  }

  /// Returns true if a stored result has the entry's number in the run or, for an entry without a
  /// number, its time.
  bool is_same_measurement(const RunRecord::Entry& entry, Known& known, const Subject& subject,
                           const RunRow& run) {
    if (entry.number == 0) {
      return entry.at_unix >= 0 && moments_of(known).contains(entry.at_unix);
    }
    find_number_.bind(":run", run.id).bind(":number", entry.number);
    const bool same = find_number_.step() &&
                      key_of(subject) == KnownKey(read_group(find_number_),
                                                  find_number_.integer("configuration_id"));
    find_number_.reset();
    return same;
  }

  const std::set<double>& moments_of(Known& known) {
    for (const std::int64_t id : known.ids) {
      find_moment_.bind(":id", id).step();
      known.moments.insert(find_moment_.real("at_unix"));
      find_moment_.reset();
    }
    known.ids.clear();
    return known.moments;
  }

  /// Updates the known results of a configuration after one was stored.
  void note_known(const Subject& subject, const Result& result) {
    const auto place = known_.find(key_of(subject));
    if (place == known_.end()) return;
    place->second.in_run = true;
    const Measurement& time = result.measurement;
    note_measured(place->second, result.status, result.stage,
                  result.timed() ? std::optional(time.median_ms) : std::nullopt, time.mean_ms);
    ++known_results_;
  }

  void store_run_row() {
    const std::int64_t origin_id = record_.origin ? store_origin(connection_, *record_.origin) : 0;
    Run run = record_.run;
    run.id = stored_uid(record_);
    run_ = {.id = store_run(connection_, run, space_id_, environment_of(""), origin_id,
                            /*process=*/""),
            .model_id = model_id_};
  }

  std::int64_t environment_of(const std::string& unit) {
    const std::string& uuid = unit.empty() ? record_.run.device.uuid : unit;
    const auto [found, is_new] = environments_.try_emplace(uuid, 0);
    if (is_new) found->second = store_environment(connection_, model_id_, uuid, record_.run);
    return found->second;
  }

  /// Stores when the run began and ended. How it ended is not known as long as the record goes on.
  void note_times() {
    Statement(connection_, R"sql(
      UPDATE run SET outcome = :outcome, ended_unix = :ended
      WHERE id = :run AND outcome = '' AND :outcome <> '')sql")
        .bind(":outcome", record_.goes_on ? std::string() : record_.outcome)
        .bind(":ended", record_.ended_unix)
        .bind(":run", run_->id)
        .run();
    Statement(connection_, R"sql(
      UPDATE run SET started_unix = :started
      WHERE id = :run AND :started >= 0 AND (started_unix < 0 OR started_unix > :started))sql")
        .bind(":started", started_unix_)
        .bind(":run", run_->id)
        .run();
  }

  struct Current {
    std::int64_t kernel_id = 0;
    double at_unix = 0;
  };

  /// Makes the version of a kernel that was measured last the current one.
  void make_current(const std::string& kernel, const Current& newest) {
    Statement(connection_, R"sql(
      INSERT INTO current_kernel (model_id, space_id, name, kernel_id)
      VALUES (:model, :space, :name, :kernel)
      ON CONFLICT (model_id, space_id, name) DO UPDATE SET kernel_id = excluded.kernel_id
        WHERE kernel_id <> excluded.kernel_id AND :at >
              (SELECT coalesce(max(at_unix), 0) FROM result
               WHERE model_id = :model AND kernel_id = current_kernel.kernel_id))sql")
        .bind(":model", model_id_)
        .bind(":space", space_id_)
        .bind(":name", kernel)
        .bind(":kernel", newest.kernel_id)
        .bind(":at", newest.at_unix)
        .run();
  }

  const Connection& connection_;
  const RunRecord& record_;
  double started_unix_;  ///< Earliest start of all parts; -1 if unknown.
  SubjectRows subjects_;
  ResultRows results_;
  Statement find_;
  Statement find_moment_;
  Statement find_number_;
  std::optional<RunRow> run_;  ///< nullopt if not stored yet.
  std::optional<RunRow> own_;  ///< For an import, our own run with this id, if there is one.
  std::int64_t space_id_ = 0;
  std::int64_t model_id_ = 0;
  std::optional<RunCounts> counts_;  ///< nullopt if they must be recounted.
  std::int64_t last_number_ = 0;
  std::map<KnownKey, Known> known_;           ///< Configurations that were looked up recently.
  std::size_t known_results_ = 0;             ///< Total number of results in `known_`.
  std::optional<std::int64_t> first_stored_;  ///< Id of the first result that this object stored.
  std::map<std::string, std::int64_t> environments_;  ///< Environment ids, by the unit's UUID.
  std::set<ResultGroup> touched_;                     ///< Groups that received results.
  std::map<std::string, Current> current_;            ///< Keyed by the kernel's name.
  Added added_;
};

}  // namespace

RunRecord ResultStore::record_of(const std::string& run_id) const {
  const Connection& connection = *connection_;
  Statement select(connection, run_sql());
  if (!select.bind(":uid", run_id).step()) {
    throw StoreError(connection.file().string() + ": there is no run " + run_id);
  }
  RunRecord record;
  Run& run = record.run;
  run.id = run_id;
  run.space = select.text("space_name");
  run.space_sha256 = select.text("space_sha256");
  run.space_json = select.text("space_json");
  run.device = read_device(select);
  run.compiler = select.text("compiler");
  run.compiler_sha256 = select.text("compiler_sha256");
  run.tool_version = select.text("tool_version");
  run.host = select.text("host");
  run.strategy = select.text("strategy");
  run.seed = std::strtoull(select.text("seed").c_str(), nullptr, 10);
  run.command_line = words_from_json(select, "command_line_json");
  run.started_unix = select.real("started_unix");
  if (!select.is_null("ended_unix")) record.ended_unix = select.real("ended_unix");
  record.outcome = select.text("outcome");
  record.origin = read_origin(select);

  Statement results(connection, run_results_sql());
  results.bind(":run", select.integer("run_id"));
  while (results.step()) {
    record.entries.push_back({.number = results.integer("number"),
                              .kernel_hash = results.text("kernel_hash"),
                              .stale = results.integer("stale") != 0,
                              .at_unix = results.real("at_unix"),
                              .result = read_result(results)});
  }
  return record;
}

Added ResultStore::add(RunRecord record, const std::function<void(RunRecord&)>& next,
                       const AddLimits& limits) {
  const Connection& connection = *connection_;
  const ManyRows many_rows(connection);
  Added added;
  for (;;) {
    const auto begun = std::chrono::steady_clock::now();
    Transaction transaction(connection);
    // Its knowledge of the database is valid until the commit, when others can write.
    RunAdder adder(connection, record);
    adder.add_all();
    const auto is_full = [&] {
      return adder.added().added + adder.added().conflicting >= limits.results ||
             std::chrono::steady_clock::now() - begun >= limits.time;
    };
    while (next && record.goes_on && !is_full()) {
      next(record);
      adder.add_all();
    }
    adder.finish();
    transaction.commit();
    added += adder.added();
    if (!next || !record.goes_on) return added;
    std::this_thread::sleep_for(limits.pause);
    next(record);
  }
}

}  // namespace smemtune::db
