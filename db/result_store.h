#pragma once

#include "tuner/core/device.h"
#include "tuner/core/findings.h"
#include "tuner/core/result.h"
#include "tuner/core/result_log.h"
#include "tuner/core/run.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::db {

class Connection;
struct Comparison;
struct StoredPortfolio;

/// A stored result with its provenance.
struct StoredResult {
  std::string space;
  std::string kernel_hash;
  Result result;  ///< Its samples only where they were stored.
  Device device;  ///< The one it was measured on.
  std::string run_id;
  std::string compiler;
  std::string tool_version;
  std::string host;
  double at_unix = 0;
  std::int64_t model_id = 0;  ///< The device model's, within its database.
  bool stale = false;  ///< Its kernel hash is not the newest one of that kernel on that device.
};

/// The values that a kernel's space file gives as its default, as they were when last measured.
struct KernelDefaults {
  std::string space;
  std::string kernel;
  Configuration configuration;

  bool operator==(const KernelDefaults&) const = default;
};

/// Which results to answer with. Empty members mean all.
struct Query {
  std::string space = {};
  std::string kernel = {};   ///< Its name, or `space/kernel`.
  std::string device = {};   ///< Part of the model's name, case ignored, or a UUID.
  std::string problem = {};  ///< A key, or NAME=VALUE pairs that must be among the problem's.
  std::string status = {};
  std::string run = {};          ///< How its id begins.
  std::string kernel_hash = {};  ///< Only this version of a kernel.
};

/// A line of `smemtune list`.
struct StoredRun {
  std::string id;
  std::string space;
  std::string device;
  DeviceKind device_kind = DeviceKind::gpu;
  std::string compiler;
  std::string strategy;
  std::uint64_t seed = 0;
  double started_unix = 0;
  std::optional<double> ended_unix;
  std::string outcome;  ///< `complete`, `interrupted`, `budget`, `failed`; empty: cut off.
  std::uint64_t results = 0;
  std::uint64_t correct = 0;
};

/// The results database: one SQLite file, one writer process at a time, every acknowledged result
/// on disk (journal_mode=TRUNCATE, synchronous=FULL). ":memory:" for tests.
class ResultStore {
 public:
  enum class Mode { read_write_create, read_only };

  /// Throws StoreError saying what is wrong and what to do: not a database, another program's, a
  /// newer version, corrupt, locked for longer than `busy_timeout_ms`, a folder that cannot be
  /// written. The file is untouched then.
  explicit ResultStore(const std::filesystem::path& file, Mode mode = Mode::read_write_create,
                       int busy_timeout_ms = 30000);
  ~ResultStore();
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;
  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) noexcept;

  /// The version of a database that a newer smemtune wrote: what this one knows of it is read.
  std::optional<std::int64_t> newer_version() const;

  /// Stores the run and returns the log that its results go to. Throws InputError for a GPU without
  /// a UUID: it is not here, and what a dry run finds is not stored. REQUIRES: the store outlives
  /// the log.
  std::unique_ptr<ResultLog> begin_run(const Run& run);

  /// `outcome`: see StoredRun.
  void end_run(const std::string& run_id, const std::string& outcome);

  /// Per device model and problem, the fastest verified configuration of each kernel (ordered by
  /// device, space, problem, time), or of all kernels together with `per_kernel` false. CPU and GPU
  /// are different devices and never compete.
  std::vector<StoredResult> best(const Query& query, bool per_kernel) const;

  /// The devices' bests for each problem, and how each GPU does with the others' (comparison.h).
  Comparison compare(const Query& query) const;

  /// For each space and device model, or each kernel of it, the `most` configurations that together
  /// lose least over all problems (stored_portfolio.h).
  std::vector<StoredPortfolio> portfolios(const Query& query, std::size_t most,
                                          bool per_kernel = false) const;

  /// The default values of each kernel that was right with them somewhere. Of the query, space and
  /// kernel count.
  std::vector<KernelDefaults> defaults(const Query& query) const;

  /// Results in the order they were recorded; only the newest `limit`, 0 is all.
  std::vector<StoredResult> results(const Query& query, std::size_t limit = 0) const;

  /// For strategies that look elsewhere: read_findings() in findings.h.
  std::vector<Findings> findings(const std::string& space, const Device& device,
                                 const std::vector<Problem>& problems) const;

  /// In the order they began. Of the query, space, device and run count.
  std::vector<StoredRun> runs(const Query& query) const;

  /// Names of the kernels that results are stored of, each once.
  std::vector<std::string> kernels() const;

  /// Device models that a run was begun on, in the order of their names; without board or driver.
  std::vector<Device> devices() const;

 private:
  StoredResult result(std::int64_t id) const;

  std::unique_ptr<Connection> connection_;
};

}  // namespace smemtune::db
