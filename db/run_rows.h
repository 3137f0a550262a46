#pragma once

#include "db/columns.h"
#include "db/rows.h"
#include "tuner/core/result.h"
#include "tuner/core/result_log.h"

#include <cstdint>
#include <optional>
#include <string>

// Functions that store the rows of a run, and the rows that its results refer to unless they exist
// already. Used for runs of ours and for imported ones.

namespace smemtune::db {

/// Stores the device model. `imported`: uses the row for imported results of such devices, which is
/// separate from the row for our own results.
std::int64_t store_model(const Connection& connection, const Device& device, bool imported);

/// Stores the run's environment on the unit with this UUID.
std::int64_t store_environment(const Connection& connection, std::int64_t model_id,
                               const std::string& uuid, const Run& run);

std::int64_t store_space(const Connection& connection, const std::string& name);

/// Stores the run. `origin_id`: 0 for a run of ours. `process`: the process that may still be
/// writing it.
std::int64_t store_run(const Connection& connection, const Run& run, std::int64_t space_id,
                       std::int64_t environment_id, std::int64_t origin_id,
                       const std::string& process);

/// Reads the columns of device_model; those of device_model, environment and device_unit; those of
/// origin.
Device read_model(const Statement& row);
Device read_device(const Statement& row);
std::optional<Origin> read_origin(const Statement& row);

/// The ids of what a result is about.
struct Subject {
  ResultGroup group;
  std::int64_t configuration_id = 0;
  /// True if nothing was stored about the configuration before, not even for another problem.
  bool is_new = false;
};

/// Binds `:model`, `:kernel`, `:problem` and `:configuration`. Returns the statement.
Statement& bind_subject(Statement& statement, const Subject& subject);

/// Stores the rows that results refer to. REQUIRES: the connection outlives it.
class SubjectRows {
 public:
  /// `ours`: the stored values of a problem or configuration with the same key are replaced.
  SubjectRows(const Connection& connection, bool ours);

  Subject store(std::int64_t model_id, std::int64_t space_id, const std::string& kernel_hash,
                const std::string& kernel, const Problem& problem,
                const Configuration& configuration);

 private:
  std::int64_t store_problem(std::int64_t space_id, const Problem& problem);
  struct Row {
    std::int64_t id = 0;
    bool is_new = false;  ///< Always false for rows of ours, where it is not known.
  };
  /// Inserts the row unless it exists. The first parameters of both statements are the key.
  template <typename... Key>
  Row insert_or_find(Statement& insert, Statement& find, const Key&... key);

  struct Version {
    std::string kernel;
    std::string hash;
    Problem problem;
  };
  const Connection& connection_;
  bool ours_;
  // The previous subject of imported results: most results are of the same kernel and problem as
  // the previous one.
  std::optional<Version> last_;
  Subject last_subject_;
  Statement insert_kernel_;
  Statement find_kernel_;
  Statement insert_problem_;
  Statement find_problem_;
  Statement insert_configuration_;
  Statement find_configuration_;
};

/// Stores results. REQUIRES: the connection outlives it.
class ResultRows {
 public:
  explicit ResultRows(const Connection& connection);

  /// The columns of a row besides those of the result itself.
  struct Place {
    std::int64_t run_id = 0;
    std::int64_t number = 0;
    std::int64_t environment_id = 0;
    Subject subject;
    double at_unix = 0;
  };
  /// Stores the result and returns its row's id. A detail that is too long is cut; compile and
  /// verification times that are not finite are stored as 0.
  std::int64_t store(const Place& place, const Result& result);

 private:
  const Connection& connection_;
  Statement insert_;
};

/// Number of configurations that a run evaluated, and how many of them were correct: a row of
/// run_count.
struct RunCounts {
  std::int64_t results = 0;
  std::int64_t correct = 0;
};
/// Counts all results of the run, after some were added or removed in bulk.
RunCounts count_results(const Connection& connection, std::int64_t run_id);
/// Returns the run's row of run_count; nullopt if it has none.
std::optional<RunCounts> kept_counts(const Connection& connection, std::int64_t run_id);
void keep_counts(const Connection& connection, std::int64_t run_id, const RunCounts& counts);

/// Returns the best of all stored results of a group; nullopt if none stands.
std::optional<std::int64_t> best_result(const Connection& connection, const ResultGroup& group);
/// Stores it as the best.
void choose_best(const Connection& connection, const ResultGroup& group);
/// Stores the bests of all groups that were in finals.
void choose_all_bests(const Connection& connection);
/// Stores a result as the best of its group.
void keep_best(const Connection& connection, std::int64_t result_id);

}  // namespace smemtune::db
