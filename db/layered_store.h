#pragma once

#include "db/comparison.h"
#include "db/result_store.h"
#include "db/sections.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::db {

/// What is read below one's own database.
struct SharedFile {
  std::filesystem::path file;  ///< A database, or an export as JSON.
  std::string name;            ///< As results are said to come from it.
};

/// The files of a list with a colon between its members, each a file or a folder of them. What is
/// not there is in it as well.
std::vector<SharedFile> shared_files(const std::string& list);

/// The databases and exports of a folder, by name. Results are said to be from `name/FILE`.
std::vector<SharedFile> files_in(const std::filesystem::path& folder, const std::string& name);

/// Whether a LayeredStore's query of that source asks the shared files, too.
bool means_shared(const std::string& source);

/// One's own database and, below it, files that others share, which are only read. For a space, a
/// problem and a device model the first one that has an answer gives it. A query for one's own and
/// shared results that names no space is about those of one's own database.
///
/// A query's source is `own`, `shared`, `imported` (into those that are asked, or one's own) or
/// several of them with commas between; `all`; or the name of an imported or shared file, or a part
/// of it that no other has.
class LayeredStore {
 public:
  /// `own`: nullopt where there is none. Files that cannot be read are left out, and told to
  /// `warn`.
  LayeredStore(std::optional<ResultStore> own, const std::vector<SharedFile>& shared,
               const std::function<void(const std::string&)>& warn);

  /// As those of ResultStore.
  std::vector<StoredResult> best(const Query& query, bool per_kernel) const;
  Comparison compare(const Query& asked) const;
  std::vector<KernelDefaults> defaults(const Query& query) const;
  void each_result(const Query& query, std::size_t limit,
                   const std::function<void(StoredResult&&)>& take) const;
  std::vector<StoredResult> results(const Query& query, std::size_t limit = 0) const;
  std::vector<StoredSection> sections(const Query& query, std::size_t most) const;
  std::vector<StoredRun> runs(const Query& query) const;
  std::vector<std::string> kernels() const;

  /// Return `query` with the names that are stored in the databases that its source means
  /// (exact_query()). The functions above ask for what it returns.
  Query exact(const Query& query) const;

  /// The text of the space file that a result's run was given; empty: not known.
  std::string space_text(const StoredResult& stored) const;

  /// Each from one database, as times of all its problems are needed: the first that has one.
  /// Shared files that hold winners only have none; they answer where nothing else does.
  std::vector<StoredPortfolio> portfolios(const Query& query, std::size_t most,
                                          bool per_kernel = false) const;

  /// What the shared files hold for a run that one's own database is the log of, and their names.
  struct SharedFindings {
    std::vector<Findings> findings;
    std::vector<std::string> from;
  };
  SharedFindings findings(const std::string& space, const Device& device,
                          const std::vector<Problem>& problems) const;

 private:
  struct Layer {
    std::string name;  ///< Empty: one's own.
    ResultStore store;
  };

  /// Calls `visit(layer, query)` for each layer that the query's source means; for each space where
  /// one's own database says which.
  void visit(const Query& asked,
             const std::function<void(const Layer&, const Query&)>& visit) const;

  std::vector<Layer> layers_;
};

}  // namespace smemtune::db
