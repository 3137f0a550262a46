#pragma once

#include <string>

namespace smemtune::db {

/// The fastest configuration of every kernel, with everything a StoredResult holds. Bindings:
/// :space, :kernel, :device, :status, :run, :hash (empty: all), :problems (a JSON array of ids; NULL: all).
std::string best_sql();

/// Results, newest first. Bindings as above, and :limit (-1: all).
std::string results_sql();

/// One result. Binding: :id.
std::string result_sql();

/// Of each kernel, the newest result of its default values. Bindings: :space, :kernel.
std::string defaults_sql();

/// Bindings: :space, :device, :run.
std::string runs_sql();

/// What is known of one configuration, newest first, at most two rows. Bindings: :model,
/// :kernel_id, :space_id, :problem_key, :kernel_name, :configuration_key.
std::string find_sql();

}  // namespace smemtune::db
