#pragma once

#include "db/rows.h"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::db {

struct Comparison;
struct StoredPortfolio;
struct ProblemResults;

/// Answers from stored results: those of one database (ResultStore) or of several (LayeredStore).
class ResultReader {
 public:
  virtual ~ResultReader() = default;

  /// Per device model and problem, the fastest verified configuration of each kernel (ordered by
  /// device, space, problem, time), or of all kernels together with `per_kernel` false. CPU and GPU
  /// are different devices and never compete.
  virtual std::vector<StoredResult> best(const Query& query, bool per_kernel) const = 0;

  /// Returns what else was measured of the bests of kernels and of default values: how the best of
  /// one problem did for the others, failures included. Together with best(query, per_kernel) these
  /// are the results that selection.h predicts from.
  virtual std::vector<StoredResult> candidates(const Query& query) const = 0;

  /// The devices' bests for each problem, and how each GPU does with the others' (comparison.h).
  virtual Comparison compare(const Query& query) const = 0;

  /// For each space and device model, or each kernel of it, the `most` configurations that together
  /// lose least over all problems (stored_portfolio.h).
  virtual std::vector<StoredPortfolio> portfolios(const Query& query, std::size_t most,
                                                  bool per_kernel) const = 0;

  /// The default values of each kernel that was right with them somewhere. Of the query, space,
  /// kernel and source count.
  virtual std::vector<KernelDefaults> defaults(const Query& query) const = 0;

  /// Gives `take` each result in the order they were recorded; only the newest `limit`, 0 is all.
  virtual void each_result(const Query& query, std::size_t limit,
                           const std::function<void(StoredResult&&)>& take) const = 0;

  /// Returns one result of each version of a kernel, problem and device model, stale or not; of
  /// those that are correct and not timed none.
  virtual std::vector<StoredResult> one_of_each_kernel(const Query& query) const = 0;

  /// Gives `take` the newest result of each configuration, in the order in which the configurations
  /// were first recorded; without stale results and those that are correct and not timed. Each
  /// database's results and its imported ones are told apart. REQUIRES: what counts of
  /// one_of_each_kernel() is of one kernel's name, problem and device's name.
  virtual void each_newest(const Query& query,
                           const std::function<void(StoredResult&&)>& take) const = 0;

  /// Returns what each_result() gives.
  std::vector<StoredResult> results(const Query& query, std::size_t limit = 0) const {
    std::vector<StoredResult> all;
    each_result(query, limit, [&](StoredResult&& one) { all.push_back(std::move(one)); });
    return all;
  }

  /// Returns the sections of a report (sections.h), with at most about `most` results for each
  /// problem on a device model.
  virtual std::vector<ProblemResults> sections(const Query& query, std::size_t most) const = 0;

  /// In the order they began. Of the query, space, device, run and source count.
  virtual std::vector<StoredRun> runs(const Query& query) const = 0;

  /// Names of the kernels that results are stored of, each once.
  virtual std::vector<std::string> kernels() const = 0;

  /// Returns `query` with its names replaced by the stored names that they mean (exact_query()).
  /// The functions above query with the result.
  virtual Query exact(const Query& query) const = 0;

  /// Returns the text of the space file that the result's run was given; empty if unknown.
  virtual std::string space_text(const StoredResult& stored) const = 0;

 protected:
  ResultReader() = default;
  ResultReader(ResultReader&&) = default;
  ResultReader& operator=(ResultReader&&) = default;
};

}  // namespace smemtune::db
