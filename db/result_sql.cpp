#include "db/result_sql.h"

namespace smemtune::db {

namespace {

// Both tables have an `id`: the first is the one that is read by that name. `name` is the device's.
const char* const kColumns = R"sql(
  result.*,
  space.name AS space_name, kernel.name AS kernel_name, kernel.hash AS kernel_hash,
  problem.values_json AS problem_json, configuration.values_json AS configuration_json,
  run.uid AS run_uid,
  environment.driver_version, environment.runtime_version, environment.compiler,
  environment.tool_version, environment.host,
  device_unit.uuid,
  coalesce(current_kernel.kernel_id <> result.kernel_id, 0) AS stale,
  device_model.*
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
  LEFT JOIN current_kernel ON current_kernel.model_id = result.model_id
    AND current_kernel.space_id = kernel.space_id AND current_kernel.name = kernel.name
)sql";

const char* const kFilter = R"sql(
  WHERE (:space = '' OR space.name = :space)
    AND (:kernel = '' OR kernel.name = :kernel OR space.name || '/' || kernel.name = :kernel)
    AND (:device = '' OR instr(lower(device_model.name), lower(:device)) > 0
         OR lower(device_unit.uuid) = lower(:device))
    AND (:status = '' OR result.status = :status)
    AND (:run = '' OR substr(run.uid, 1, length(:run)) = :run)
    AND (:hash = '' OR kernel.hash = :hash)
    AND (:problems IS NULL OR result.problem_id IN (SELECT value FROM json_each(:problems)))
)sql";

}  // namespace

// CROSS JOIN keeps the order of the tables: a best for each kernel, then its one result.
std::string best_sql() {
  return std::string("SELECT ") + kColumns + R"sql(
    FROM best CROSS JOIN result ON result.id = best.result_id
    )sql" +
         kJoins + kFilter + R"sql(
    -- Again, of what is known before the result is read.
    AND best.kernel_id IN (
      SELECT kernel.id FROM kernel JOIN space ON space.id = kernel.space_id
      WHERE (:space = '' OR space.name = :space)
        AND (:kernel = '' OR kernel.name = :kernel OR space.name || '/' || kernel.name = :kernel))
    ORDER BY device_model.name, device_model.id, space.name, problem.key, result.median_ms,
             kernel.name, result.id)sql";
}

std::string results_sql() {
  return std::string("SELECT ") + kColumns + " FROM result " + kJoins + kFilter +
         " ORDER BY result.id DESC LIMIT :limit";
}

std::string result_sql() {
  return std::string("SELECT ") + kColumns + " FROM result " + kJoins + " WHERE result.id = :id";
}

std::string defaults_sql() {
  return R"sql(
    WITH newest AS (
      SELECT kernel.space_id, kernel.name, max(result.id) AS result_id
      FROM result JOIN kernel ON kernel.id = result.kernel_id
      WHERE result.is_default = 1 AND result.status = 'correct'
      GROUP BY kernel.space_id, kernel.name)
    SELECT space.name AS space_name, newest.name AS kernel_name,
           configuration.values_json AS configuration_json
    FROM newest
    JOIN space ON space.id = newest.space_id
    JOIN result ON result.id = newest.result_id
    JOIN configuration ON configuration.id = result.configuration_id
    WHERE (:space = '' OR space.name = :space)
      AND (:kernel = '' OR newest.name = :kernel OR space.name || '/' || newest.name = :kernel)
    ORDER BY space.name, newest.name)sql";
}

std::string runs_sql() {
  return R"sql(
    SELECT run.uid, space.name AS space_name, device_model.name, device_model.kind,
           environment.compiler, run.strategy, run.seed, run.started_unix, run.ended_unix,
           run.outcome, coalesce(run_count.results, 0) AS results,
           coalesce(run_count.correct, 0) AS correct
    FROM run
    LEFT JOIN run_count ON run_count.run_id = run.id
    JOIN space ON space.id = run.space_id
    JOIN environment ON environment.id = run.environment_id
    JOIN device_unit ON device_unit.id = environment.unit_id
    JOIN device_model ON device_model.id = device_unit.model_id
    WHERE (:space = '' OR space.name = :space)
      AND (:device = '' OR instr(lower(device_model.name), lower(:device)) > 0
           OR lower(device_unit.uuid) = lower(:device))
      AND (:run = '' OR substr(run.uid, 1, length(:run)) = :run)
    ORDER BY run.started_unix, run.id)sql";
}

std::string find_sql() {
  return std::string("SELECT ") + kColumns + " FROM result " + kJoins + R"sql(
    WHERE result.model_id = :model AND result.kernel_id = :kernel_id
      AND result.problem_id =
          (SELECT id FROM problem WHERE space_id = :space_id AND key = :problem_key)
      AND result.configuration_id =
          (SELECT id FROM configuration WHERE space_id = :space_id
             AND kernel_name = :kernel_name AND key = :configuration_key)
      AND NOT (result.status = 'correct' AND result.stage = 'none')
    ORDER BY result.id DESC LIMIT 2)sql";
}

}  // namespace smemtune::db
