#pragma once

#include "db/result_store.h"
#include "db/sqlite.h"

#include <optional>
#include <string>

namespace smemtune::db {

/// Of the fastest configuration of every kernel what it is ranked by. Bindings: :space, :kernel,
/// :device, :status, :run, :hash (empty: all), :problems (a JSON array of ids; NULL: all), :source
/// (see Query).
std::string bests_sql();

/// The same of all results that a query asks for, newest first. Bindings as above.
std::string ranked_sql(const Query& query);

/// The ids of those. Bindings as above, and :limit (-1: all).
std::string ids_sql(const Query& query);

/// One result. Bindings: :id, :versions.
std::string result_sql();

/// A row of it.
StoredResult read_stored(const Statement& row);

/// Of each kernel, the newest result of its default values. Bindings: :space, :kernel, :source.
std::string defaults_sql();

/// Bindings: :space, :device, :run, :source.
std::string runs_sql();

/// The bindings that a query gives: all but :limit and :versions.
void bind_query(Statement& statement, const Connection& connection, const Query& query);

/// Query::versions as :versions takes them.
std::optional<std::string> versions_json(const Query& query);

/// Whether a row of `kernel`, joined with `current_kernel`, is stale. Binding: :versions.
const std::string& stale_sql();

/// The ids of the problems that Query::problem means, as a JSON array; nullopt: all.
std::optional<std::string> problem_ids(const Connection& connection, const std::string& query);

/// Fills the temporary table `gone`. Bindings as above without :limit, and :stale (only those of
/// edited kernels), :before (only those measured before; NULL: all).
std::string prune_sql(const Query& query);

/// What is known of one configuration, newest first, at most two rows. Bindings: :model,
/// :kernel_id, :space_id, :problem_key, :kernel_name, :configuration_key.
std::string find_sql();

/// All results of the run with the id :run, in their order.
std::string run_results_sql();

/// A run with the columns of its device, environment and origin. Binding: :uid.
std::string run_sql();

}  // namespace smemtune::db
