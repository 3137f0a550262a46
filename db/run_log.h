#pragma once

#include "db/run_rows.h"
#include "db/sqlite.h"
#include "tuner/core/result.h"
#include "tuner/core/result_log.h"
#include "tuner/core/run.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace smemtune::db {

/// The log of one run. Every call that writes is one transaction, or part of together()'s.
class RunLog final : public ResultLog {
 public:
  /// Stores the run. REQUIRES: the connection outlives the log.
  RunLog(const Connection& connection, const Run& run);

  void begin_attempt(const ResultKey& of) override;
  void record(const std::string& kernel_hash, const Result& result) override;
  int lost_attempts(const ResultKey& of) override;
  void forgive_attempts(const ResultKey& of) override;
  void together(const std::function<void()>& writes) override;
  std::optional<Result> find(const ResultKey& of) override;
  Bests bests(const Problem& problem, const std::map<std::string, std::string>& hashes) override;

 private:
  /// The same statement whenever a place asks for it, ready to be bound. `sql`: a literal.
  Statement& prepared(const char* sql);

  /// Calls `writes` in a transaction of its own, unless there is one.
  void write(const std::function<void()>& writes);

  Subject store_subject(const ResultKey& of);
  /// The environment of the unit with that UUID; empty: of the run's first.
  std::int64_t environment_of(const std::string& unit);
  /// In run_count: a configuration counts once in a run, as it was found last.
  void count(const Subject& subject, const Result& result);
  std::int64_t store_result(const Subject& subject, const Result& result);
  /// This run's; with `lost_too` those of all runs.
  void close_attempts(const Subject& subject, const char* outcome, bool lost_too);
  void update_best(const Subject& subject, const Result& result, std::int64_t result_id);
  bool was_in_finals(const Subject& subject);
  /// Notes that this version of the kernel is what the device was given last.
  void make_current(std::int64_t kernel_id, const std::string& kernel);
  void store_current(std::int64_t kernel_id, const std::string& kernel);
  /// Of this source; nullopt where the database has none.
  std::optional<std::int64_t> kernel_id(const ResultKey& of);
  int lost_attempts(std::int64_t kernel_id, const ResultKey& of);

  const Connection& connection_;
  std::int64_t run_id_ = 0;
  std::int64_t model_id_ = 0;
  Run run_;                                           ///< On its first unit.
  std::map<std::string, std::int64_t> environments_;  ///< Ids by the unit's UUID.
  std::int64_t space_id_ = 0;
  Statement find_;
  std::map<const char*, Statement> statements_;  ///< Of prepared(), by their texts' addresses.
  SubjectRows subjects_;
  ResultRows results_;
  bool is_together_ = false;
  std::set<std::int64_t> made_current_;  ///< Kernels that find() has noted.
};

/// The columns of `result` with kernel_name, problem_json and configuration_json.
Result read_result(const Statement& row);

/// Seconds since 1970, UTC.
double unix_now();

}  // namespace smemtune::db
