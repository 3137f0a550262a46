#pragma once

#include "db/rows.h"
#include "db/sqlite.h"
#include "tuner/core/main_effects.h"
#include "tuner/core/portfolio.h"
#include "tuner/core/result.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace smemtune::db {

/// A case in which configurations are compared: a problem on a device model, as their database
/// numbers them, and the time of its best.
struct TimedCase {
  const Connection* in = nullptr;
  std::int64_t model_id = 0;
  std::int64_t problem_id = 0;
  double best_ms = 0;
};

/// A kernel of a space by name and hash, which are the same in all databases.
struct KernelVersion {
  std::string name;
  std::string hash;

  auto operator<=>(const KernelVersion&) const = default;
};
KernelVersion version_of(const StoredResult& stored);

/// The newest times of configurations of a space in several cases.
struct StoredTimes {
  std::vector<KernelConfiguration> variants;
  TimeTable table;
  /// Ids of the results in table.ms; 0 if there is none.
  std::vector<std::vector<std::int64_t>> result_ids;
  /// Index of each configuration in `variants`, by its key.
  std::map<KernelVersion, std::map<std::string, std::size_t>> by_key;
  std::size_t known = 0;  ///< Number of stored configurations; not all are read if there are many.
  /// For each case, how its configurations were chosen.
  std::vector<std::map<KernelVersion, ChosenBy>> chosen;

  /// Returns how the configurations of a kernel that were tried in a case were chosen.
  ChosenBy chosen_by(std::size_t in, const KernelVersion& kernel) const;

  /// Returns the number of variants that were tried in every case, whether or not they ran.
  std::size_t tried_everywhere() const;

  std::optional<std::size_t> find(const KernelVersion& of,
                                  const Configuration& configuration) const;
};

/// Reads times from the database's index; only a sample of them if reading all would take too long.
class TimesReader {
 public:
  /// `pairs`: the number of combinations of kernel and case over all later calls of read(). `run`:
  /// only results of runs whose id begins with this text.
  TimesReader(std::size_t pairs, const std::string& run) : pairs_(pairs), run_(run) {}

  /// Reads the times of all configurations of `kernels`, each of which is given by any of its
  /// results.
  StoredTimes read(std::span<const TimedCase> cases, std::span<const StoredResult* const> kernels);

 private:
  struct Known {
    std::map<std::int64_t, Configuration> looked;  ///< The configurations to read, by id.
    std::size_t all = 0;
    std::string ids;  ///< Ids of `looked` as a JSON array; empty if all configurations are read.
  };

  const Known& configurations(const Connection& connection, std::int64_t kernel_id);
  void add(const StoredResult& kernel, std::span<const TimedCase> cases, StoredTimes& times);

  std::size_t pairs_;
  std::string run_;
  /// Keyed by connection and kernel id.
  std::map<std::pair<const Connection*, std::int64_t>, Known> known_;
};

/// Returns how the configurations that these runs tried were chosen: at random, or the whole space,
/// if that follows from the runs' strategies and outcomes; otherwise by a search, or unknown if no
/// strategy is known, as of what other tuners measured.
ChosenBy chosen_by_runs(const Connection& connection, const std::set<std::int64_t>& runs);

/// Returns the id of the problem in this database; 0 if it is not there.
std::int64_t problem_id(const Connection& connection, const std::string& space,
                        const Problem& problem);

}  // namespace smemtune::db
