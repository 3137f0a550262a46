#pragma once

#include "db/result_store.h"
#include "db/sqlite.h"
#include "tuner/core/portfolio.h"
#include "tuner/core/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune::db {

/// Where configurations are held against each other: a problem on a device model, as the database
/// numbers them, and the time of its best.
struct TimedCase {
  std::int64_t model_id = 0;
  std::int64_t problem_id = 0;
  double best_ms = 0;
};

/// The newest times of configurations of a space in several cases.
struct StoredTimes {
  std::vector<KernelConfiguration> variants;
  TimeTable table;
  std::vector<std::vector<std::int64_t>> result_ids;  ///< As table.ms; 0: there is none.
  /// Of a version of a kernel (its id), by the configurations' keys.
  std::map<std::int64_t, std::map<std::string, std::size_t>> by_key;
  std::size_t known = 0;  ///< Configurations there are; where they are many, not all are read.

  std::optional<std::size_t> find(std::int64_t kernel_id, const Configuration& configuration) const;
};

/// Reads them from the index, and some of them where all would take too long.
class TimesReader {
 public:
  /// `pairs`: how often a kernel and a case meet, of all that will be asked for. `run`: only results
  /// of runs whose id begins so.
  TimesReader(const Connection& connection, std::size_t pairs, const std::string& run)
      : connection_(connection), pairs_(pairs), run_(run) {}

  /// Of all configurations of `kernels`, which are any results of theirs.
  StoredTimes read(std::span<const TimedCase> cases, std::span<const StoredResult* const> kernels);

  std::int64_t kernel_id(const StoredResult& stored) const;
  std::int64_t problem_id(const std::string& space, const Problem& problem) const;

 private:
  struct Known {
    std::map<std::int64_t, Configuration> looked;  ///< By id.
    std::size_t all = 0;
    std::string ids;  ///< As a JSON array, where not all are looked at.
  };

  const Known& configurations(std::int64_t kernel_id);
  void add(std::int64_t kernel_id, const std::string& kernel, std::span<const TimedCase> cases,
           StoredTimes& times);

  const Connection& connection_;
  std::size_t pairs_;
  std::string run_;
  std::map<std::int64_t, Known> known_;  ///< By the kernel's id.
};

}  // namespace smemtune::db
