#pragma once

#include "db/columns.h"
#include "tuner/core/ranking.h"

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune::db {

struct Query;

/// The best configuration of a kernel for a problem on a device model (README.md).
struct KernelBest {
  ResultGroup group;
  std::string kernel;
  bool stale = false;  ///< The kernel's version is not the one that counts now.
  Timed timed;
};

/// Returns the best of each kernel that the query asks for, of one version each: the current one,
/// or the newest where that has no best. REQUIRES: the query is exact.
std::vector<KernelBest> best_of_kernels(const Connection& connection, const Query& query);

/// Returns the best of all kernels for each problem on each device model. A stale one is among them
/// only where all are stale. `bests`: of one version of each kernel.
std::vector<KernelBest> best_of_problems(const Connection& connection,
                                         std::vector<KernelBest> bests);

/// Returns the bests of kernels in this order: the bests of all kernels first, then the others by
/// time.
std::vector<KernelBest> best_first(const Connection& connection, std::vector<KernelBest> bests);

/// Returns the ids of the results that the finals which chose `best` could not tell from it, and
/// that are still the newest of their configurations, by time. `kernels`: the ids of those to look
/// at.
std::vector<std::int64_t> tied_with(const Connection& connection, const KernelBest& best,
                                    const std::vector<std::int64_t>& kernels);

/// Returns the results that show how the candidates for a size that was not measured did at those
/// that were: for each of these bests of kernels, the newest results on its device model, for its
/// problem, of the kernel's default values and of its bests for other problems (at most the 64 that
/// are the best most often), failures that last included. The bests themselves are left out. `run`:
/// only of runs whose id begins with this text.
std::vector<std::int64_t> candidate_results(const Connection& connection,
                                            const std::vector<KernelBest>& bests,
                                            const std::string& run);

/// Selects the results that count.
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

  TimingHistory read(const ResultGroup& group);

 private:
  bool passes(std::int64_t result_id);

  Statement select_;
  Statement failure_;
};

/// The query of read(). The index `result_by_configuration` holds all that it reads of most
/// results.
std::string timing_history_sql(const HistoryFilter& of = {});

/// Reads a row that has the columns of `result` that a time has.
Timed read_timed(const Statement& row);

}  // namespace smemtune::db
