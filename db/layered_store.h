#pragma once

#include "db/result_reader.h"
#include "db/result_store.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::db {

/// A file that LayeredStore reads below the user's own database.
struct SharedFile {
  std::filesystem::path file;  ///< A database, or an export as JSON.
  std::string name;            ///< The name that results from it are labelled with.
};

/// Returns the files of a list whose members are separated by colons, each a file or a folder of
/// files. Files that do not exist are included.
std::vector<SharedFile> shared_files(const std::string& list);

/// Returns the databases and exports in a folder, sorted by name. Their results are labelled
/// `name/FILE`.
std::vector<SharedFile> files_in(const std::filesystem::path& folder, const std::string& name);

/// Returns the bytes of a database with the results of an export, which is read in a fraction of the
/// time; nullopt if some of the export would be left out. Throws Error as reading it does.
std::optional<std::vector<std::uint8_t>> database_of_export(const std::filesystem::path& file);

/// Returns true if a query with this source also asks the shared files.
bool means_shared(const std::string& source);

/// The user's own database and, below it, shared files, which are only read. For each space,
/// problem and device model, the first layer that has an answer provides it. A query for own and
/// shared results that names no space covers only the spaces of the user's own database.
///
/// A query's source is a word or several words separated by commas: `own`, `shared`, and `imported`
/// (imported results of the layers asked, or of the own database); or `all`; or the name of an
/// imported or shared file, or a unique part of that name.
class LayeredStore final : public ResultReader {
 public:
  /// `own`: nullopt if the user has no database. Files that cannot be read are left out and
  /// reported to `warn`. `complete` may add to a device what is not stored of it. `space`: of
  /// exports only results of this space are read; empty: of all.
  LayeredStore(std::optional<ResultStore> own, const std::vector<SharedFile>& shared,
               const std::function<void(const std::string&)>& warn,
               std::function<void(Device&)> complete = {}, const std::string& space = {});

  // The functions of ResultReader. exact() replaces names by those of the databases that the
  // query's source asks.
  std::vector<StoredResult> best(const Query& query, bool per_kernel) const override;
  std::vector<StoredResult> candidates(const Query& query) const override;
  Comparison compare(const Query& asked) const override;
  /// Returns each portfolio from the first database that has measured one, because a portfolio needs
  /// the times of all its problems; else from the first that can predict one.
  std::vector<StoredPortfolio> portfolios(const Query& query, std::size_t most,
                                          bool per_kernel) const override;
  std::vector<KernelDefaults> defaults(const Query& query) const override;
  void each_result(const Query& query, std::size_t limit,
                   const std::function<void(StoredResult&&)>& take) const override;
  std::vector<StoredResult> one_of_each_kernel(const Query& query) const override;
  void each_newest(const Query& query,
                   const std::function<void(StoredResult&&)>& take) const override;
  std::vector<ProblemResults> sections(const Query& query, std::size_t most) const override;
  std::vector<StoredRun> runs(const Query& query) const override;
  std::vector<std::string> kernels() const override;
  Query exact(const Query& query) const override;
  std::string space_text(const StoredResult& stored) const override;

  /// PriorTimings of the shared files for a run that the user's own database logs, and the names of
  /// these files.
  struct SharedTimings {
    std::vector<PriorTimings> prior_timings;
    std::vector<std::string> from;
  };
  SharedTimings prior_timings(const std::string& space, const Device& device,
                              const std::vector<Problem>& problems) const;

 private:
  struct Layer {
    std::string name;  ///< Empty for the user's own database.
    ResultStore store;
  };

  /// Calls `visit(layer, query)` for each layer that the query's source asks. If the query names no
  /// space and asks the own database, the other layers are asked once for each space of the own
  /// database.
  void visit(const Query& asked,
             const std::function<void(const Layer&, const Query&)>& visit) const;

  /// Returns what `ask` gives of each layer, as far as no layer before it answers for the same
  /// space, problem and device model.
  std::vector<StoredResult> first_answers(
      const Query& query,
      const std::function<std::vector<StoredResult>(const ResultStore&, const Query&)>& ask) const;

  /// Names the layer as the source of a result, and completes its device.
  void label(StoredResult& one, const Layer& layer) const;

  std::vector<Layer> layers_;
  std::function<void(Device&)> complete_;
};

}  // namespace smemtune::db
