#pragma once

#include "db/result_store.h"
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

/// Where configurations are held against each other: a problem on a device model, as their database
/// numbers them, and the time of its best.
struct TimedCase {
  const Connection* in = nullptr;
  std::int64_t model_id = 0;
  std::int64_t problem_id = 0;
  double best_ms = 0;
};

/// A kernel of a space by its name and hash: the same in all databases.
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
  std::vector<std::vector<std::int64_t>> result_ids;  ///< As table.ms; 0: there is none.
  std::map<KernelVersion, std::map<std::string, std::size_t>> by_key;  ///< The configurations'.
  std::size_t known = 0;  ///< Configurations there are; where they are many, not all are read.
  std::vector<std::map<KernelVersion, ChosenBy>> chosen;  ///< By case: how its configurations were.

  /// How the configurations of a kernel that were tried in a case were chosen.
  ChosenBy chosen_by(std::size_t in, const KernelVersion& kernel) const;

  /// How many variants were tried in every case, whatever came of it.
  std::size_t tried_everywhere() const;

  std::optional<std::size_t> find(const KernelVersion& of,
                                  const Configuration& configuration) const;
};

/// Reads them from the index, and some of them where all would take too long.
class TimesReader {
 public:
  /// `pairs`: how often a kernel and a case meet, of all that will be asked for. `run`: only
  /// results of runs whose id begins so.
  TimesReader(std::size_t pairs, const std::string& run) : pairs_(pairs), run_(run) {}

  /// Of all configurations of `kernels`, which are any results of theirs.
  StoredTimes read(std::span<const TimedCase> cases, std::span<const StoredResult* const> kernels);

 private:
  struct Known {
    std::map<std::int64_t, Configuration> looked;  ///< By id.
    std::size_t all = 0;
    std::string ids;  ///< As a JSON array, where not all are looked at.
  };

  const Known& configurations(const Connection& connection, std::int64_t kernel_id);
  void add(const StoredResult& kernel, std::span<const TimedCase> cases, StoredTimes& times);

  std::size_t pairs_;
  std::string run_;
  std::map<std::pair<const Connection*, std::int64_t>, Known> known_;  ///< By the kernel's id.
};

/// How the configurations were chosen that runs with these ids tried: at random, or all of the space,
/// where that follows from the runs' strategies and from how they ended; else by a search.
ChosenBy chosen_by_runs(const Connection& connection, const std::set<std::int64_t>& runs);

/// As that database numbers it; 0: it is not there.
std::int64_t problem_id(const Connection& connection, const std::string& space,
                        const Problem& problem);

}  // namespace smemtune::db
