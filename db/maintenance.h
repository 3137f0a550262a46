#pragma once

#include "db/rows.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// Functions that keep a database in order. Each opens the database as every command does, and
// throws StoreError as documented at open_database().

namespace smemtune::db {

/// Faults of a database that can be opened.
struct DatabaseFaults {
  /// One line for each fault: damaged pages, dangling references, measurements that contradict
  /// themselves (contradictions.h), bests that do not follow from the results, text that smemtune
  /// never wrote. At most 20, and a line that counts the others.
  std::vector<std::string> faults;
  /// Imported results that contradict themselves, one line for each imported file: errors of other
  /// tools are not faults of the database.
  std::vector<std::string> notes;
};
DatabaseFaults check_database(const std::filesystem::path& file);

/// Returns the faults without the notes.
std::vector<std::string> find_faults(const std::filesystem::path& file);

/// Summary of the contents of a database.
struct DatabaseSummary {
  struct Part {
    std::string source;  ///< The imported file; empty for results that were measured here.
    std::string device;
    std::string space;
    std::uint64_t runs = 0;
    std::uint64_t results = 0;  ///< Configurations that its runs evaluated, as StoredRun has them.
    std::uint64_t correct = 0;
    double last_unix = -1;
  };
  std::int64_t version = 0;
  std::uintmax_t bytes = 0;
  std::vector<Part> parts;
};
DatabaseSummary summarize_database(const std::filesystem::path& file);

/// Writes a consistent copy, readable only by its owner, even while others write the database.
/// Throws InputError if `copy` exists.
void back_up_database(const std::filesystem::path& file, const std::filesystem::path& copy);

/// Selects the results to remove: those that match all of the following.
struct PruneRule {
  Query query = {.source = "all"};
  bool stale = false;                 ///< Only results of kernels that have been edited since.
  std::optional<double> before_unix;  ///< Only results measured before this time.
};

struct Pruned {
  std::uint64_t results = 0;
  /// Number of kernels that lose their best result, counted per device and problem.
  std::uint64_t bests = 0;
  /// Number of removed runs: those left without a result, and those that never had one.
  std::uint64_t runs = 0;
  /// Removed results, grouped by what they are about.
  struct Part {
    std::string device;
    std::string space;
    std::string kernel;
    std::string source;  ///< The imported file; empty for results that were measured here.
    std::uint64_t results = 0;
    std::uint64_t bests = 0;
  };
  std::vector<Part> parts;
  /// A run that loses results or is removed.
  struct OfRun {
    std::string id;
    double started_unix = 0;
    std::string device;
    std::string space;
    std::uint64_t results = 0;  ///< Number of its results that are removed.
    bool goes = false;          ///< True if no result is left, so that the run itself is removed.
  };
  std::vector<OfRun> of_runs;
  /// Copy of the database before the removal; empty if none was written.
  std::filesystem::path backup;
};

enum class PruneBackup { beside, none };

/// Removes the results in one transaction, after writing a backup of the whole database beside it,
/// `FILE.pruned-TIME.bak`. Results that others store while the backup is written stay, even if they
/// match the rule. The file keeps its size, and the freed space is reused. The bests are chosen
/// anew among the remaining results. Runs that are still active are kept with all that they may
/// refer to; otherwise devices, spaces, kernels and problems are removed with their last result.
/// Throws StoreError, without removing anything, if the backup cannot be written.
Pruned prune(const std::filesystem::path& file, const PruneRule& rule,
             PruneBackup backup = PruneBackup::beside);

/// Returns what prune() would remove. The file stays unchanged, even if it has an older version.
Pruned would_prune(const std::filesystem::path& file, const PruneRule& rule);

/// The result of undo_prune().
struct Restored {
  std::filesystem::path backup;
  std::uint64_t results = 0;
  std::uint64_t runs = 0;
};

/// Restores the results and runs of a backup that are missing from the database, in one
/// transaction: in their old order, with their attempts; the bests are chosen anew. Results stored
/// since stay and count as newer. Without `backup`, the newest backup beside the file that has
/// anything to restore is used. Throws InputError if there is no such backup, or `backup` does not
/// exist.
Restored undo_prune(const std::filesystem::path& file,
                    const std::optional<std::filesystem::path>& backup = {});

/// Returns the backups that prune() wrote beside the file, newest first.
std::vector<std::filesystem::path> prune_backups(const std::filesystem::path& file);

}  // namespace smemtune::db
