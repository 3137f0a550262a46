#pragma once

#include "db/sqlite.h"
#include "tuner/core/ranking.h"

#include <cstdint>
#include <string>

namespace smemtune::db {

/// Which results count.
struct HistoryFilter {
  bool finalists_only = false;  ///< Only configurations that were ever in finals.
  std::string ids = {};         ///< Only these configurations, a JSON array of ids; empty: all.
  std::string run = {};         ///< Only runs whose id begins so.
};

/// Reads what is known of a kernel's configurations for a problem on a device model. A
/// configuration stands if the newest of its results is a time. Results that say nothing lasting do
/// not count: transient failures, and those that were correct and not timed. REQUIRES: the
/// connection outlives it.
class TimingHistoryReader {
 public:
  explicit TimingHistoryReader(const Connection& connection, const HistoryFilter& of = {});

  TimingHistory read(std::int64_t model_id, std::int64_t kernel_id, std::int64_t problem_id);

 private:
  bool passes(std::int64_t result_id);

  Statement select_;
  Statement failure_;
};

/// Reads those of one kernel.
TimingHistory read_timing_history(const Connection& connection, std::int64_t model_id,
                                  std::int64_t kernel_id, std::int64_t problem_id,
                                  const HistoryFilter& of = {});

/// The query of read(). The index `result_by_configuration` holds all that it reads of most
/// results.
std::string timing_history_sql(const HistoryFilter& of = {});

/// Reads a row that has the columns of `result` that a time has.
Timed read_timed(const Statement& row);

}  // namespace smemtune::db
