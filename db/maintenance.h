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

/// What is wrong in a database that can be opened.
struct DatabaseFaults {
  /// A line each: pages, references, measurements that contradict themselves (contradictions.h),
  /// bests that are not what the results say, text that smemtune never wrote.
  std::vector<std::string> faults;
  /// Imported results that contradict themselves, a line for each file that they come from: what
  /// others wrote is no fault of the database.
  std::vector<std::string> notes;
};
DatabaseFaults check_database(const std::filesystem::path& file);

/// The faults alone.
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
  /// The results by what they are of.
  struct Part {
    std::string device;
    std::string space;
    std::string kernel;
    std::string source;  ///< The imported file; empty: measured here.
    std::uint64_t results = 0;
    std::uint64_t bests = 0;
  };
  std::vector<Part> parts;
  /// Runs that lose results, or go.
  struct OfRun {
    std::string id;
    double started_unix = 0;
    std::string device;
    std::string space;
    std::uint64_t results = 0;  ///< That go.
    bool goes = false;          ///< It has none left.
  };
  std::vector<OfRun> of_runs;
  std::filesystem::path backup;  ///< As the database was before; empty: none was written.
};

enum class PruneBackup { beside, none };

/// Removes them in one transaction, after a backup of the whole database was written beside it:
/// `FILE.pruned-TIME.bak`. What others store while that is written stays, whatever the rule says.
/// Their room in the file is used again. The bests are those of what is left. Runs that are under way
/// keep their place, and so does all that they may refer to; otherwise devices, spaces, kernels and
/// problems go with their last result. Throws StoreError where the backup cannot be written: nothing
/// is removed then.
Pruned prune(const std::filesystem::path& file, const PruneRule& rule,
             PruneBackup backup = PruneBackup::beside);

/// What prune() would remove. The file stays as it is, of an older version too.
Pruned would_prune(const std::filesystem::path& file, const PruneRule& rule);

/// What undo_prune() brought back.
struct Restored {
  std::filesystem::path backup;
  std::uint64_t results = 0;
  std::uint64_t runs = 0;
};

/// Brings back the results and runs of a backup that the database has no more, in one transaction:
/// in their old order, with their attempts, and the bests chosen anew. What was stored since stays,
/// and counts as newer. Without `backup` it is the newest backup of a prune beside the file that
/// has anything to bring back. Throws InputError where there is none, or it is not there.
Restored undo_prune(const std::filesystem::path& file,
                    const std::optional<std::filesystem::path>& backup = {});

/// The backups that prune() wrote beside the file, the newest first.
std::vector<std::filesystem::path> prune_backups(const std::filesystem::path& file);

}  // namespace smemtune::db
