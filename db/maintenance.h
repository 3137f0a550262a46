#pragma once

#include "db/result_store.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// What keeps a database in order. Each opens it as every command does, and throws StoreError as
// open_database() says.

namespace smemtune::db {

/// What is wrong in a database that can be opened, a line each: pages, references, times outside of
/// their samples, bests that are not what the results say, text that smemtune never wrote. Empty:
/// nothing.
std::vector<std::string> find_faults(const std::filesystem::path& file);

/// What a database holds.
struct DatabaseSummary {
  struct Part {
    std::string source;  ///< The imported file; empty: measured here.
    std::string device;
    std::string space;
    std::uint64_t runs = 0;
    std::uint64_t results = 0;
    std::uint64_t correct = 0;
    double last_unix = -1;
  };
  std::int64_t version = 0;
  std::uintmax_t bytes = 0;
  std::vector<Part> parts;
};
DatabaseSummary summarize_database(const std::filesystem::path& file);

/// A copy as it is now, whoever writes the database meanwhile, readable by its owner. Throws
/// InputError where there is something at `copy`.
void back_up_database(const std::filesystem::path& file, const std::filesystem::path& copy);

/// Which results are to go: those that match all of it.
struct PruneRule {
  Query query = {.source = "all"};
  bool stale = false;                 ///< Of kernels that were edited since.
  std::optional<double> before_unix;  ///< Measured before that.
};

struct Pruned {
  std::uint64_t results = 0;
  std::uint64_t bests = 0;  ///< Kernels on a device for a problem that lose their best.
  std::uint64_t runs = 0;   ///< That are left without a result, or never had one.
};

/// Removes them in one transaction. Their room in the file is used again. The bests are those of what
/// is left. Runs that are under way keep their place, and so does all that they may refer to;
/// otherwise devices, spaces, kernels and problems go with their last result.
Pruned prune(const std::filesystem::path& file, const PruneRule& rule);

/// What prune() would remove. The file stays as it is, of an older version too.
Pruned would_prune(const std::filesystem::path& file, const PruneRule& rule);

}  // namespace smemtune::db
