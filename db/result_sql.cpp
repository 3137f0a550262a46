#include "db/result_sql.h"

#include "db/columns.h"
#include "db/run_log.h"
#include "db/run_rows.h"
#include "db/stored_names.h"

#include <algorithm>

namespace smemtune::db {

namespace {

/// 1 if the kernel's version is not the current one: one of :versions (version_key()), or if that
/// is NULL, the version that ran last on the device. A version without a hash is unknown and not
/// stale.
const std::string kStale = R"sql(
  CASE WHEN :versions IS NULL THEN coalesce(current_kernel.kernel_id <> kernel.id, 0)
       ELSE kernel.hash <> '' AND kernel.name || '/' || kernel.hash
            NOT IN (SELECT value FROM json_each(:versions)) END
)sql";

// Both tables have an `id`: reading by that name gives the first one. `name` is the device's.
const std::string kColumns = R"sql(
  result.*,
  space.name AS space_name, kernel.name AS kernel_name, kernel.hash AS kernel_hash,
  problem.values_json AS problem_json, configuration.values_json AS configuration_json,
  run.uid AS run_uid,
  environment.driver_version, environment.runtime_version, environment.compiler,
  environment.tool_version, environment.host,
  device_unit.uuid,
)sql" + kStale + R"sql( AS stale,
  device_model.*
)sql";

const char* const kOrigin = R"sql(
  , origin.id AS origin_id, origin.format AS origin_format, origin.file AS origin_file,
  origin.file_sha256 AS origin_sha256, origin.tool AS origin_tool, origin.device AS origin_device,
  origin.imported_unix AS origin_unix
)sql";

const std::string kRunsFrom = R"sql(
  run
  JOIN space ON space.id = run.space_id
  JOIN environment ON environment.id = run.environment_id
  JOIN device_unit ON device_unit.id = environment.unit_id
  JOIN device_model ON device_model.id = device_unit.model_id
  LEFT JOIN origin ON origin.id = run.origin_id
)sql";

const char* const kJoins = R"sql(
  JOIN kernel ON kernel.id = result.kernel_id
  JOIN space ON space.id = kernel.space_id
  JOIN problem ON problem.id = result.problem_id
  JOIN configuration ON configuration.id = result.configuration_id
  JOIN run ON run.id = result.run_id
  JOIN environment ON environment.id = result.environment_id
  JOIN device_unit ON device_unit.id = environment.unit_id
  JOIN device_model ON device_model.id = result.model_id
  LEFT JOIN origin ON origin.id = run.origin_id
  LEFT JOIN current_kernel ON current_kernel.model_id = result.model_id
    AND current_kernel.space_id = kernel.space_id AND current_kernel.name = kernel.name
)sql";

const std::string kStored = "SELECT " + kColumns + kOrigin + " FROM result " + kJoins;

/// True if a row is from the requested source; needs a join with `device_model` and `origin`.
const std::string kIsOfSource = R"sql(
    CASE :source WHEN 'own' THEN NOT device_model.imported WHEN 'all' THEN 1
             WHEN 'imported' THEN device_model.imported
             ELSE origin.file = :source END
)sql";

// The conditions of a query, as sets of the ids that a result refers to.

const std::string kModels = R"sql(
  (SELECT id FROM device_model
   WHERE CASE :source WHEN 'own' THEN NOT imported WHEN 'imported' THEN imported ELSE 1 END
     AND (:device = '' OR name = :device
          OR id IN (SELECT model_id FROM device_unit WHERE lower(uuid) = lower(:device))))
)sql";

const std::string kKernels = R"sql(
  (SELECT kernel.id FROM kernel JOIN space ON space.id = kernel.space_id
   WHERE (:space = '' OR space.name = :space)
     AND (:kernel = '' OR kernel.name = :kernel OR space.name || '/' || kernel.name = :kernel)
     AND (:hash = '' OR kernel.hash = :hash))
)sql";

const std::string kRuns = R"sql(
  (SELECT run.id FROM run LEFT JOIN origin ON origin.id = run.origin_id
   WHERE (:run = '' OR substr(run.uid, 1, length(:run)) = :run)
     AND (:source IN ('own', 'all', 'imported') OR origin.file = :source))
)sql";

/// Selects the rows of `table`, which is `result` or has its ids too, that a query asks for. Each set
/// is computed once. The unary plus keeps SQLite from using one of them to find the rows:
/// asked_results() chooses the best way.
std::string is_asked(const std::string& table) {
  return "+" + table + ".model_id IN " + kModels + " AND +" + table + ".kernel_id IN " + kKernels +
         " AND +" + table + ".run_id IN " + kRuns + " AND (:problems IS NULL OR +" + table +
         R"sql(.problem_id IN (SELECT value FROM json_each(:problems)))
  AND (:configuration = ''
       OR +result.configuration_id IN (SELECT id FROM configuration WHERE key = :configuration))
  AND (:status = '' OR result.status = :status)
  AND (:device = ''
       OR +result.model_id IN
          (SELECT id FROM device_model WHERE name = :device)
       OR result.environment_id IN
          (SELECT environment.id FROM environment
           JOIN device_unit ON device_unit.id = environment.unit_id
           WHERE lower(device_unit.uuid) = lower(:device)))
)sql";
}

/// False for results that are correct and not timed, of which nothing follows.
const std::string kCounts = "NOT (result.status = 'correct' AND result.stage = 'none')";

const std::string kRanked = R"sql(
  result.id, result.model_id, result.problem_id, result.kernel_id, result.configuration_id,
  result.run_id, result.status, result.reason, result.stage, result.chosen, result.median_ms,
  kernel.name AS kernel_name, )sql" +
                            kStale + " AS stale\n";

const char* const kKernelJoins = R"sql(
  JOIN kernel ON kernel.id = result.kernel_id
  LEFT JOIN current_kernel ON current_kernel.model_id = result.model_id
    AND current_kernel.space_id = kernel.space_id AND current_kernel.name = kernel.name
)sql";

/// Returns the tables that give the requested results by the shortest way.
std::string asked_results(const Query& query) {
  const bool is_file = !is_source_word(query.source);
  std::string from = "result";
  if (!query.run.empty() || is_file) {
    from = kRuns + " AS asked_run CROSS JOIN result ON result.run_id = asked_run.id";
  } else if (!query.space.empty() || !query.kernel.empty() || !query.device.empty() ||
             !query.kernel_hash.empty() || !query.problem.empty()) {
    from = kModels + " AS asked_model CROSS JOIN " + kKernels +
           " AS asked_kernel CROSS JOIN result ON result.model_id = asked_model.id "
           "AND result.kernel_id = asked_kernel.id";
  }
  return from;
}

/// Returns true if the problem has all values of `wanted`.
bool contains(const Problem& problem, const Problem& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const auto found = problem.find(entry.first);
    return found != problem.end() && to_text(found->second) == to_text(entry.second);
  });
}

}  // namespace

std::optional<std::string> versions_json(const Query& query) {
  return query.versions ? std::optional(to_json(*query.versions)) : std::nullopt;
}

const std::string& stale_sql() { return kStale; }

const std::string& runs_from() { return kRunsFrom; }

const std::string& asked_models_sql() { return kModels; }

std::optional<std::string> problem_ids(const Connection& connection, const std::string& query) {
  if (query.empty()) return std::nullopt;
  const Problem wanted = parse_key(query);
  std::string ids = "[";
  Statement problems(connection, "SELECT id, values_json FROM problem");
  while (problems.step()) {
    if (!contains(bindings_from_json(problems, "values_json"), wanted)) continue;
    if (ids.size() > 1) ids += ",";
    ids += std::to_string(problems.integer("id"));
  }
  return ids + "]";
}

StoredResult read_stored(const Statement& row) {
  StoredResult stored;
  stored.space = row.text("space_name");
  stored.kernel_hash = row.text("kernel_hash");
  stored.result = read_result(row);
  stored.device = read_device(row);
  stored.run_id = row.text("run_uid");
  stored.compiler = row.text("compiler");
  stored.tool_version = row.text("tool_version");
  stored.host = row.text("host");
  stored.at_unix = row.real("at_unix");
  stored.model_id = row.integer("model_id");
  stored.stale = row.integer("stale") != 0;
  stored.origin = read_origin(row);
  forget_untold(stored);
  return stored;
}

void bind_query(Statement& statement, const Connection& connection, const Query& query) {
  statement.bind(":space", query.space)
      .bind(":kernel", query.kernel)
      .bind(":device", query.device)
      .bind(":configuration", query.configuration)
      .bind(":status", query.status)
      .bind(":run", query.run)
      .bind(":hash", query.kernel_hash)
      .bind(":source", query.source)
      .bind(":problems", problem_ids(connection, query.problem));
}

// CROSS JOIN keeps the order of the tables: the bests that the query asks for, then only their
// results, each of which is a page of its own in a large database.
std::string bests_sql() {
  return "SELECT " + kRanked + " FROM best CROSS JOIN result ON result.id = best.result_id" +
         kKernelJoins + R"sql(
    JOIN space ON space.id = kernel.space_id
    JOIN problem ON problem.id = result.problem_id
    JOIN device_model ON device_model.id = result.model_id
    WHERE )sql" +
         is_asked("best") + R"sql(
    ORDER BY device_model.name, device_model.id, space.name, problem.key, result.median_ms,
             kernel.name, result.id)sql";
}

std::string ranked_sql(const Query& query) {
  return "SELECT " + kRanked + " FROM " + asked_results(query) + kKernelJoins + " WHERE " +
         is_asked("result") + " ORDER BY result.id";
}

std::string ids_sql(const Query& query) {
  return "SELECT result.id FROM " + asked_results(query) + " WHERE " + is_asked("result") +
         " ORDER BY result.id DESC LIMIT :limit";
}

std::string one_of_each_kernel_sql() {
  return R"sql(
    SELECT (SELECT result.id FROM result
            WHERE result.model_id = device_model.id AND result.kernel_id = kernel.id
              AND result.problem_id = problem.id AND )sql" +
         kCounts + " AND " + is_asked("result") + R"sql( LIMIT 1) AS id
    FROM device_model CROSS JOIN kernel
    JOIN problem ON problem.space_id = kernel.space_id
    WHERE device_model.id IN )sql" +
         kModels + " AND kernel.id IN " + kKernels + R"sql(
      AND (:problems IS NULL OR problem.id IN (SELECT value FROM json_each(:problems))))sql";
}

std::string newest_sql(const Query& query) {
  return "SELECT result.id, result.configuration_id, result.model_id IN "
         "(SELECT id FROM device_model WHERE imported) AS imported FROM " +
         asked_results(query) + kKernelJoins + " WHERE " + kCounts + " AND NOT (" + kStale +
         ") AND " + is_asked("result");
}

std::string result_sql() { return kStored + " WHERE result.id = :id"; }

// The newest results of each kernel with its default values are read, until one is of the source.
std::string defaults_sql() {
  return R"sql(
    WITH newest AS (
      SELECT kernel.space_id, kernel.name, max(
        (SELECT result.id FROM result
         JOIN device_model ON device_model.id = result.model_id
         JOIN run ON run.id = result.run_id
         LEFT JOIN origin ON origin.id = run.origin_id
         WHERE result.kernel_id = kernel.id AND result.is_default = 1
           AND result.status = 'correct' AND )sql" +
         kIsOfSource + R"sql(
         ORDER BY result.id DESC LIMIT 1)) AS result_id
      FROM kernel GROUP BY kernel.space_id, kernel.name)
    SELECT space.name AS space_name, newest.name AS kernel_name,
           configuration.values_json AS configuration_json, run.space_json
    FROM newest
    JOIN space ON space.id = newest.space_id
    JOIN result ON result.id = newest.result_id
    JOIN run ON run.id = result.run_id
    JOIN configuration ON configuration.id = result.configuration_id
    WHERE (:space = '' OR space.name = :space)
      AND (:kernel = '' OR newest.name = :kernel OR space.name || '/' || newest.name = :kernel)
    ORDER BY space.name, newest.name)sql";
}

std::string runs_sql() {
  return R"sql(
    SELECT run.uid, run.id AS run_id, space.name AS space_name, device_model.name,
           device_model.kind, environment.host, environment.compiler, run.strategy, run.seed,
           run.started_unix, run.ended_unix, run.outcome, run.process,
           origin.file AS origin_file,
           coalesce(run_count.results, 0) AS results,
           coalesce(run_count.correct, 0) AS correct
    FROM )sql" +
         kRunsFrom + R"sql(
    LEFT JOIN run_count ON run_count.run_id = run.id
    WHERE (:space = '' OR space.name = :space)
      AND (:device = '' OR device_model.name = :device
           OR lower(device_unit.uuid) = lower(:device))
      AND (:run = '' OR substr(run.uid, 1, length(:run)) = :run)
      AND )sql" +
         kIsOfSource + R"sql(
    ORDER BY run.started_unix, run.id)sql";
}

Statement select_runs(const Connection& connection, const Query& query) {
  Statement select(connection, runs_sql());
  select.bind(":space", query.space)
      .bind(":device", query.device)
      .bind(":run", query.run)
      .bind(":source", query.source);
  return select;
}

std::string find_sql() {
  return kStored + R"sql(
    WHERE result.model_id = :model AND result.kernel_id = :kernel_id
      AND result.problem_id =
          (SELECT id FROM problem WHERE space_id = :space_id AND key = :problem_key)
      AND result.configuration_id =
          (SELECT id FROM configuration WHERE space_id = :space_id
             AND kernel_name = :kernel_name AND key = :configuration_key)
      AND )sql" +
         kCounts + " ORDER BY result.id DESC LIMIT 2";
}

std::string run_results_sql() {
  return kStored + " WHERE result.run_id = :run ORDER BY result.number";
}

std::string run_origins_sql() {
  return std::string("SELECT run.id AS run_id, run.uid") + kOrigin +
         " FROM run LEFT JOIN origin ON origin.id = run.origin_id ORDER BY run.id";
}

std::string prune_sql(const Query& query) {
  return R"sql(
    INSERT INTO temp.gone (id, run_id, model_id, kernel_id, problem_id)
    SELECT result.id, result.run_id, result.model_id, result.kernel_id, result.problem_id
    FROM )sql" +
         asked_results(query) + kKernelJoins + " WHERE " + is_asked("result") + R"sql(
      AND (NOT :stale OR )sql" +
         kStale + R"sql()
      AND (:before IS NULL OR result.at_unix < :before))sql";
}

std::string run_sql() {
  return std::string("SELECT run.*, run.id AS run_id") + kOrigin + R"sql(,
      space.name AS space_name, environment.*, device_unit.uuid, device_model.*
    FROM )sql" +
         kRunsFrom + " WHERE run.uid = :uid";
}

}  // namespace smemtune::db
