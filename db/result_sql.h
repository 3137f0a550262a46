#pragma once

#include "db/rows.h"
#include "db/sqlite.h"

#include <optional>
#include <string>

namespace smemtune::db {

/// Returns the query for the best result of every kernel, with the columns that results are ranked
/// by. Bindings: :space, :kernel, :device, :status, :run, :hash (empty: all), :problems (a JSON
/// array of ids; NULL: all), :source (see Query).
std::string bests_sql();

/// Returns the query for the same columns of all results that a query asks for, newest first.
/// Bindings as above.
std::string ranked_sql(const Query& query);

/// Returns the query for the ids of these results. Bindings as above, and :limit (-1: all).
std::string ids_sql(const Query& query);

/// Returns the query for the id of one result of each model, kernel and problem, stale or not,
/// without those that are correct and not timed; NULL where there is none. Bindings as above.
std::string one_of_each_kernel_sql();

/// Returns the query for `id`, `configuration_id` and `imported` of the results of kernels as they
/// are now, without those that are correct and not timed. Bindings as above, and :versions.
std::string newest_sql(const Query& query);

/// Returns the query for one result. Bindings: :id, :versions.
std::string result_sql();

/// Reads a row of result_sql().
StoredResult read_stored(const Statement& row);

/// Returns the query for the newest result of each kernel with its default values. Bindings:
/// :space, :kernel, :source.
std::string defaults_sql();

/// Returns the tables of runs, with their spaces, environments, devices and origins.
const std::string& runs_from();
/// Returns the query for runs, oldest first. Bindings: :space, :device, :run, :source.
std::string runs_sql();
/// Prepares the query for the runs that a query means, with its parameters bound.
Statement select_runs(const Connection& connection, const Query& query);

/// Binds the parameters that a query provides: all but :limit and :versions.
void bind_query(Statement& statement, const Connection& connection, const Query& query);

/// Returns Query::versions in the form that :versions expects.
std::optional<std::string> versions_json(const Query& query);

/// Returns an expression that is true if a row of `kernel`, joined with `current_kernel`, is stale.
/// Binding: :versions.
const std::string& stale_sql();

/// Returns the set of the ids of the device models that a query asks for. Bindings: :device, :source.
const std::string& asked_models_sql();

/// Returns the ids of the problems that match Query::problem, as a JSON array; nullopt: all.
std::optional<std::string> problem_ids(const Connection& connection, const std::string& query);

/// Returns the statement that fills the temporary table `gone` with the results to remove. Bindings
/// as above without :limit, and :stale (only results of edited kernels), :before (only results
/// measured before; NULL: all).
std::string prune_sql(const Query& query);

/// Returns the query for the newest results of one configuration, at most two rows, newest first.
/// Bindings: :model, :kernel_id, :space_id, :problem_key, :kernel_name, :configuration_key.
std::string find_sql();

/// Returns the query for all results of the run with the id :run, in their order.
std::string run_results_sql();

/// Returns the query for the ids of all runs with the columns of their origins.
std::string run_origins_sql();

/// Returns the query for a run with the columns of its device, environment and origin. Binding:
/// :uid.
std::string run_sql();

}  // namespace smemtune::db
