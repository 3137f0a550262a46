#pragma once

#include "db/run_rows.h"
#include "db/sqlite.h"
#include "tuner/core/result.h"
#include "tuner/core/result_log.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace smemtune::db {

/// The log of one run. Every call that writes is one transaction, or part of the transaction of
/// in_transaction().
class RunLog final : public ResultLog {
 public:
  /// Stores the run. REQUIRES: the connection outlives the log.
  RunLog(const Connection& connection, const Run& run);

  void begin_attempt(const ResultKey& of) override;
  void record(const std::string& kernel_hash, const Result& result) override;
  int lost_attempts(const ResultKey& of) override;
  void close_attempts(const ResultKey& of) override;
  void in_transaction(const std::function<void()>& writes) override;
  std::optional<Result> find(const ResultKey& of) override;
  std::vector<Configuration> known(const ResultKey& of) override;
  Bests bests(const Problem& problem, const std::map<std::string, std::string>& hashes) override;

 private:
  /// Returns the statement that `sql`, a string literal, was compiled to, ready to be bound. The
  /// same literal always gives the same statement.
  Statement& prepared(const char* sql);

  /// Calls `writes` in a transaction of its own, unless one is open.
  void write(const std::function<void()>& writes);

  Subject store_subject(const ResultKey& of);
  /// Returns the environment id of the unit with this UUID; an empty UUID means the run's first
  /// unit.
  std::int64_t environment_of(const std::string& unit);
  /// Updates run_count, where a configuration counts once in a run, with its latest status.
  void count(const Subject& subject, const Result& result);
  std::int64_t store_result(const Subject& subject, const Result& result);
  /// Closes the open attempts of this run, and with `lost_too` those of all runs.
  void end_attempts(const Subject& subject, const char* outcome, bool lost_too);
  void update_best(const Subject& subject, const Result& result, std::int64_t result_id);
  bool was_in_finals(const Subject& subject);
  /// Makes this version of the kernel the current one on the device, once for each version.
  void make_current(std::int64_t kernel_id, const std::string& kernel);
  void store_current(std::int64_t kernel_id, const std::string& kernel);
  /// Returns the id of the kernel with this source; nullopt if it is not stored.
  std::optional<std::int64_t> kernel_id(const ResultKey& of);
  int lost_attempts(std::int64_t kernel_id, const ResultKey& of);

  const Connection& connection_;
  std::int64_t run_id_ = 0;
  std::int64_t model_id_ = 0;
  Run run_;                                           ///< With the device's first unit.
  std::map<std::string, std::int64_t> environments_;  ///< Ids by the unit's UUID.
  std::int64_t space_id_ = 0;
  Statement find_;
  /// The statements of prepared(), by the addresses of their texts.
  std::map<const char*, Statement> statements_;
  SubjectRows subjects_;
  ResultRows results_;
  bool in_transaction_ = false;
  /// Ids of the kernel versions that make_current() has stored.
  std::set<std::int64_t> made_current_;
};

/// Reads the columns of `result` with kernel_name, problem_json and configuration_json.
Result read_result(const Statement& row);

/// Returns the current time in seconds since 1970, UTC.
double unix_now();

}  // namespace smemtune::db
