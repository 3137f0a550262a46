#pragma once

#include "db/result_store.h"
#include "db/sqlite.h"
#include "tuner/core/result.h"
#include "tuner/core/result_log.h"

#include <cstdint>
#include <optional>
#include <string>

// The rows of a run and of what its results are about, stored where they are not there yet, for
// runs of ours and for those that come from elsewhere.

namespace smemtune::db {

/// Runs a query that answers with an id.
std::int64_t read_id(Statement& statement);

/// `imported`: the row of imported results of such devices, which is another than that of our own.
std::int64_t store_model(const Connection& connection, const Device& device, bool imported);

/// The run's on the unit with that UUID.
std::int64_t store_environment(const Connection& connection, std::int64_t model_id,
                               const std::string& uuid, const Run& run);

std::int64_t store_space(const Connection& connection, const std::string& name);

/// `origin_id`: 0 for a run of ours. `process` may still be writing it.
std::int64_t store_run(const Connection& connection, const Run& run, std::int64_t space_id,
                       std::int64_t environment_id, std::int64_t origin_id,
                       const std::string& process);

/// The columns of device_model; with those of environment and device_unit; those of origin.
Device read_model(const Statement& row);
Device read_device(const Statement& row);
std::optional<Origin> read_origin(const Statement& row);

/// What a result is about.
struct Subject {
  std::int64_t kernel_id = 0;
  std::int64_t problem_id = 0;
  std::int64_t configuration_id = 0;
  bool is_new = false;  ///< Nothing was stored of the configuration, not even for another problem.
};

/// Stores what results are about. REQUIRES: the connection outlives it.
class SubjectRows {
 public:
  /// `ours`: what is stored of a problem or configuration of that name becomes what is given.
  SubjectRows(const Connection& connection, bool ours);

  Subject store(std::int64_t space_id, const std::string& kernel_hash, const std::string& kernel,
                const Problem& problem, const Configuration& configuration);

 private:
  std::int64_t store_problem(std::int64_t space_id, const Problem& problem);
  struct Row {
    std::int64_t id = 0;
    bool is_new = false;  ///< Of a row of ours it is not known.
  };
  /// The first parameters of both statements are the key.
  template <typename... Key>
  Row insert_or_find(Statement& insert, Statement& find, const Key&... key);

  struct Version {
    std::string kernel;
    std::string hash;
    Problem problem;
  };
  const Connection& connection_;
  bool ours_;
  // Of what comes from elsewhere: most results are of the same kernel and problem as the last.
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

  /// What a row says besides the result itself.
  struct Place {
    std::int64_t run_id = 0;
    std::int64_t number = 0;
    std::int64_t model_id = 0;
    std::int64_t environment_id = 0;
    Subject subject;
    double at_unix = 0;
  };
  /// Its id. A detail that is too long is cut; what is not finite is left out.
  std::int64_t store(const Place& place, const Result& result);

 private:
  const Connection& connection_;
  Statement insert_;
};

/// How many configurations a run has found, and how many right: a row of run_count.
struct RunCounts {
  std::int64_t results = 0;
  std::int64_t correct = 0;
};
/// Of all its results: where some were added or removed at once.
RunCounts count_results(const Connection& connection, std::int64_t run_id);
/// Its row; nullopt where it has none.
std::optional<RunCounts> kept_counts(const Connection& connection, std::int64_t run_id);
void keep_counts(const Connection& connection, std::int64_t run_id, const RunCounts& counts);

/// Chooses the best of a kernel on a model for a problem among all that is stored, and keeps it.
void choose_best(const Connection& connection, std::int64_t model_id, const Subject& subject);
/// The same for every kernel that was in finals.
void choose_all_bests(const Connection& connection);
void keep_best(const Connection& connection, std::int64_t model_id, const Subject& subject,
               std::int64_t result_id);

}  // namespace smemtune::db
