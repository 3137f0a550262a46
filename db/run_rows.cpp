#include "db/run_rows.h"

#include "db/bests.h"
#include "db/columns.h"
#include "db/rows.h"
#include "tuner/core/fields.h"
#include "tuner/core/hash.h"
#include "tuner/core/text.h"

#include <cmath>
#include <stdexcept>

namespace smemtune::db {

namespace {

constexpr std::size_t kMaxDetailBytes = 64 << 10;

double finite_or_zero(double value) { return std::isfinite(value) ? value : 0; }

/// Returns the clause for a row that may exist already: the old values stay, or are replaced by the
/// new ones.
std::string on_conflict(const char* key, bool replace) {
  return std::string(" ON CONFLICT (") + key + ") DO " +
         (replace ? "UPDATE SET values_json = excluded.values_json "
                    "WHERE values_json <> excluded.values_json"
                  : "NOTHING");
}

/// Checks what the database's CHECKs require and the types of a result's members do not guarantee.
void check_storable(const Connection& connection, const Result& result) {
  constexpr double kLongest_ms = 1e12;
  const double ms = result.measurement.median_ms;
  if (result.status == Status::fits) throw std::logic_error("what fits was not launched");
  if (!result.timed() || (ms > 0 && ms < kLongest_ms)) return;
  throw StoreError(connection.file().string() + ": a time of " + decimal(ms, 3) +
                   " ms cannot be stored: it must be above 0 and below 1e12");
}

bool fits_columns(const Result& result) {
  return result.detail.size() <= kMaxDetailBytes && std::isfinite(result.compile_ms) &&
         std::isfinite(result.verify_ms);
}

Result fitted_to_columns(Result result) {
  result.detail = truncated(result.detail, kMaxDetailBytes);
  result.compile_ms = finite_or_zero(result.compile_ms);
  result.verify_ms = finite_or_zero(result.verify_ms);
  return result;
}

// Returns the stored form of enumerators and other members.
std::string stored_form(Status value) { return to_text(value); }
std::string stored_form(Stage value) { return to_text(value); }
std::string stored_form(ComparedWith value) { return to_text(value); }
std::string stored_form(const std::vector<ComparedOutput>& value) { return to_json(value); }
std::string stored_form(const FinalsFacts& value) { return to_json(value); }
template <typename T>
const T& stored_form(const T& value) {
  return value;
}

/// Calls `visit` with the name and value of each column of the table `result` except its id.
template <typename Visit>
void visit_columns(const ResultRows::Place& place, const Result& result, Visit visit) {
  visit("run_id", place.run_id);
  visit("number", place.number);
  visit("model_id", place.subject.group.model_id);
  visit("environment_id", place.environment_id);
  visit("kernel_id", place.subject.group.kernel_id);
  visit("problem_id", place.subject.group.problem_id);
  visit("configuration_id", place.subject.configuration_id);
  visit("launches_json", to_json(result.launches));
  visit("metrics_json", to_json(result.metrics));
  visit("at_unix", place.at_unix);
  visit_fields(result,
               [&](const char* name, const auto& value) { visit(name, stored_form(value)); });
  const bool timed = result.timed();
  visit_fields(result.measurement, [&]<typename T>(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      visit(name, timed && value);  // The only flag, which is never NULL.
    } else {
      visit(name, timed ? std::optional<T>(value) : std::nullopt);
    }
  });
  const std::vector<double>& samples_ms = result.measurement.samples_ms;
  visit("samples", samples_ms.empty() ? std::nullopt : std::optional(to_blob(samples_ms)));
}

std::vector<std::string> result_columns() {
  std::vector<std::string> columns;
  visit_columns({}, {}, [&](const char* name, const auto&) { columns.emplace_back(name); });
  return columns;
}

std::string insert_result_sql() {
  const std::vector<std::string> columns = result_columns();
  return "INSERT INTO result (" + joined(columns, ", ") + ") VALUES (:" + joined(columns, ", :") +
         ")";
}

}  // namespace

std::int64_t store_model(const Connection& connection, const Device& device, bool imported) {
  const std::string own_key = device_model_key(device);
  const std::string key = imported ? sha256("imported\n" + own_key) : own_key;
  NewRow row;
  row.key("key_sha256", key).set("imported", imported);
  visit_model(device, [&](const char* name, const auto& value) { row.set(name, value); });
  return row.store_in(connection, "device_model");
}

std::int64_t store_environment(const Connection& connection, std::int64_t model_id,
                               const std::string& uuid, const Run& run) {
  return NewRow()
      .key("unit_id",
           NewRow().key("model_id", model_id).key("uuid", uuid).store_in(connection, "device_unit"))
      .key("driver_version", run.device.driver_version)
      .key("runtime_version", run.device.runtime_version)
      .key("compiler", run.compiler)
      .key("compiler_sha256", run.compiler_sha256)
      .key("tool_version", run.tool_version)
      .key("host", run.host)
      .store_in(connection, "environment");
}

std::int64_t store_space(const Connection& connection, const std::string& name) {
  return NewRow().key("name", name).store_in(connection, "space");
}

std::int64_t store_run(const Connection& connection, const Run& run, std::int64_t space_id,
                       std::int64_t environment_id, std::int64_t origin_id,
                       const std::string& process) {
  Statement(connection, R"sql(
    INSERT INTO run (uid, space_id, space_sha256, space_json, environment_id, strategy, seed,
                     command_line_json, process, started_unix, origin_id)
    VALUES (:uid, :space, :space_sha256, :space_json, :environment, :strategy, :seed,
            :command_line, :process, :started, :origin))sql")
      .bind(":uid", run.id)
      .bind(":space", space_id)
      .bind(":space_sha256", run.space_sha256)
      .bind(":space_json", run.space_json)
      .bind(":environment", environment_id)
      .bind(":strategy", run.strategy)
      .bind(":seed", std::to_string(run.seed))
      .bind(":command_line", to_json(run.command_line))
      .bind(":process", process)
      .bind(":started", run.started_unix)
      .bind(":origin", origin_id)
      .run();
  return connection.last_insert_id();
}

Device read_model(const Statement& row) {
  Device device;
  visit_model(device, [&](const char* name, auto& value) { read_column(row, name, value); });
  return device;
}

Device read_device(const Statement& row) {
  Device device = read_model(row);
  device.uuid = row.text("uuid");
  device.driver_version = row.text("driver_version");
  device.runtime_version = row.text("runtime_version");
  return device;
}

std::optional<Origin> read_origin(const Statement& row) {
  if (row.is_null("origin_format")) return std::nullopt;
  return Origin{.format = row.text("origin_format"),
                .file = row.text("origin_file"),
                .file_sha256 = row.text("origin_sha256"),
                .tool = row.text("origin_tool"),
                .device = row.text("origin_device"),
                .imported_unix = row.real("origin_unix")};
}

SubjectRows::SubjectRows(const Connection& connection, bool ours)
    : connection_(connection),
      ours_(ours),
      insert_kernel_(connection, R"sql(
        INSERT INTO kernel (space_id, name, hash) VALUES (:space, :name, :hash)
        ON CONFLICT (space_id, name, hash) DO NOTHING)sql"),
      find_kernel_(connection, R"sql(
        SELECT id FROM kernel WHERE space_id = :space AND name = :name AND hash = :hash)sql"),
      insert_problem_(connection,
                      "INSERT INTO problem (space_id, key, values_json) "
                      "VALUES (:space, :key, :values)" +
                          on_conflict("space_id, key", ours)),
      find_problem_(connection, "SELECT id FROM problem WHERE space_id = :space AND key = :key"),
      insert_configuration_(connection,
                            "INSERT INTO configuration (space_id, kernel_name, key, values_json) "
                            "VALUES (:space, :name, :key, :values)" +
                                on_conflict("space_id, kernel_name, key", ours)),
      find_configuration_(connection, R"sql(
        SELECT id FROM configuration
        WHERE space_id = :space AND kernel_name = :name AND key = :key)sql") {}

Statement& bind_subject(Statement& statement, const Subject& subject) {
  return bind_group(statement, subject.group).bind(":configuration", subject.configuration_id);
}

Subject SubjectRows::store(std::int64_t model_id, std::int64_t space_id,
                           const std::string& kernel_hash, const std::string& kernel,
                           const Problem& problem, const Configuration& configuration) {
  const bool as_last =
      last_ && last_->kernel == kernel && last_->hash == kernel_hash && last_->problem == problem;
  Subject subject = last_subject_;
  if (!as_last) {
    subject.group.kernel_id =
        insert_or_find(insert_kernel_, find_kernel_, space_id, kernel, kernel_hash).id;
    subject.group.problem_id = store_problem(space_id, problem);
  }
  if (!ours_ && !as_last) {
    last_ = {.kernel = kernel, .hash = kernel_hash, .problem = problem};
    last_subject_ = subject;
  }
  insert_configuration_.bind(4, to_json(configuration));
  const Row row = insert_or_find(insert_configuration_, find_configuration_, space_id, kernel,
                                 key(configuration));
  subject.group.model_id = model_id;
  subject.configuration_id = row.id;
  subject.is_new = row.is_new;
  return subject;
}

template <typename... Key>
SubjectRows::Row SubjectRows::insert_or_find(Statement& insert, Statement& find,
                                             const Key&... key) {
  int place = 0;
  (insert.bind(++place, key), ...);
  insert.run();
  // RETURNING is avoided because SQLite builds a table for it each time. For rows of ours, the
  // statement may have updated an existing row.
  if (!ours_ && connection_.changes() == 1) {
    return {.id = connection_.last_insert_id(), .is_new = true};
  }
  place = 0;
  (find.bind(++place, key), ...);
  return {.id = find.id()};
}

std::int64_t SubjectRows::store_problem(std::int64_t space_id, const Problem& problem) {
  insert_problem_.bind(3, to_json(problem));
  return insert_or_find(insert_problem_, find_problem_, space_id, key(problem)).id;
}

ResultRows::ResultRows(const Connection& connection)
    : connection_(connection), insert_(connection, insert_result_sql()) {}

std::int64_t ResultRows::store(const Place& place, const Result& result) {
  if (!fits_columns(result)) return store(place, fitted_to_columns(result));
  check_storable(connection_, result);
  int column = 0;
  visit_columns(place, result,
                [&](const char*, const auto& value) { insert_.bind(++column, value); });
  insert_.run();
  return connection_.last_insert_id();
}

RunCounts count_results(const Connection& connection, std::int64_t run_id) {
  Statement select(connection, R"sql(
    SELECT count(*) AS results, coalesce(sum(status = 'correct'), 0) AS correct
    FROM (SELECT status, max(id) FROM result WHERE run_id = :run
          GROUP BY kernel_id, problem_id, configuration_id))sql");
  select.bind(":run", run_id).step();
  return {.results = select.integer("results"), .correct = select.integer("correct")};
}

std::optional<RunCounts> kept_counts(const Connection& connection, std::int64_t run_id) {
  Statement select(connection, "SELECT results, correct FROM run_count WHERE run_id = :run");
  if (!select.bind(":run", run_id).step()) return std::nullopt;
  return RunCounts{.results = select.integer("results"), .correct = select.integer("correct")};
}

void keep_counts(const Connection& connection, std::int64_t run_id, const RunCounts& counts) {
  Statement(connection, R"sql(
    INSERT INTO run_count (run_id, results, correct) VALUES (:run, :results, :correct)
    ON CONFLICT (run_id) DO UPDATE SET results = excluded.results, correct = excluded.correct)sql")
      .bind(":run", run_id)
      .bind(":results", counts.results)
      .bind(":correct", counts.correct)
      .run();
}

std::optional<std::int64_t> best_result(const Connection& connection, const ResultGroup& group) {
  const TimingHistory history = TimingHistoryReader(connection).read(group);
  const auto best = best_of(history);
  return best ? std::optional(history.newest[*best].result_id) : std::nullopt;
}

void choose_best(const Connection& connection, const ResultGroup& group) {
  if (const auto best = best_result(connection, group)) return keep_best(connection, *best);
  Statement remove(connection, R"sql(
    DELETE FROM best
    WHERE model_id = :model AND problem_id = :problem AND kernel_id = :kernel)sql");
  bind_group(remove, group).run();
}

void choose_all_bests(const Connection& connection) {
  Statement groups(connection, R"sql(
    SELECT DISTINCT model_id, kernel_id, problem_id FROM result
    WHERE stage = 'final' AND status = 'correct')sql");
  while (groups.step()) choose_best(connection, read_group(groups));
}

void keep_best(const Connection& connection, std::int64_t result_id) {
  Statement(connection, R"sql(
    INSERT INTO best (model_id, problem_id, kernel_id, configuration_id, result_id, run_id, stage,
                      median_ms)
    SELECT model_id, problem_id, kernel_id, configuration_id, id, run_id, stage, median_ms
    FROM result WHERE id = :result
    ON CONFLICT (model_id, problem_id, kernel_id) DO UPDATE SET
      configuration_id = excluded.configuration_id, result_id = excluded.result_id,
      run_id = excluded.run_id, stage = excluded.stage, median_ms = excluded.median_ms)sql")
      .bind(":result", result_id)
      .run();
}

}  // namespace smemtune::db
