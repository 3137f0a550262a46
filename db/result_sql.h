#pragma once

#include "db/result_store.h"
#include "db/sqlite.h"

#include <optional>
#include <string>

namespace smemtune::db {

/// The fastest configuration of every kernel, with everything a StoredResult holds. Bindings:
/// :space, :kernel, :device, :status, :run, :hash (empty: all), :problems (a JSON array of ids;
/// NULL: all), :source (see Query).
std::string best_sql();

/// Results, newest first. Bindings as above, and :limit (-1: all).
std::string results_sql();

/// One result. Binding: :id.
std::string result_sql();

/// A row of these.
StoredResult read_stored(const Statement& row);

/// Of each kernel, the newest result of its default values. Bindings: :space, :kernel, :source.
std::string defaults_sql();

/// Bindings: :space, :device, :run, :source.
std::string runs_sql();

/// The bindings of these that a query gives: all but :limit.
void bind_query(Statement& statement, const Connection& connection, const Query& query);

/// The ids of the problems that Query::problem means, as a JSON array; nullopt: all.
std::optional<std::string> problem_ids(const Connection& connection, const std::string& query);

/// Fills the temporary table `gone`. Bindings as above without :limit, and :stale (only those of
/// edited kernels), :before (only those measured before; NULL: all).
std::string prune_sql();

/// What is known of one configuration, newest first, at most two rows. Bindings: :model,
/// :kernel_id, :space_id, :problem_key, :kernel_name, :configuration_key.
std::string find_sql();

/// All results of the run with the id :run, in their order.
std::string run_results_sql();

/// A run with the columns of its device, environment and origin. Binding: :uid.
std::string run_sql();

}  // namespace smemtune::db
