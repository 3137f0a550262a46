#pragma once

#include "db/rows.h"
#include "tuner/core/device.h"
#include "tuner/core/findings.h"
#include "tuner/core/result_log.h"
#include "tuner/core/run.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smemtune::db {

class Connection;
struct Comparison;
struct StoredPortfolio;
struct StoredSection;

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

  /// That a run goes on, for other machines: kSignInterval_s apart at most. `hosts_state`: which of
  /// its hosts it waits for or does without, for people; empty: none.
  void note_alive(const std::string& run_id, const std::string& hosts_state);

  /// `outcome`: see StoredRun.
  void end_run(const std::string& run_id, const std::string& outcome);

  /// Everything of a run, by its whole id. Throws StoreError where there is none.
  RunRecord record_of(const std::string& run_id) const;

  /// Adds what is not known of a run. With an origin its results are imported ones: never among our
  /// own, and known also where another import brought the same. Of a run that goes on `next` puts
  /// each further record in the place of the one before it; without it what is given is added, and
  /// the rest may be added later. It is one transaction unless there is more of it than `limits`; a
  /// run of which only some is stored has no outcome, and adding it again adds the rest.
  Added add(RunRecord record, const std::function<void(RunRecord&)>& next = {},
            const AddLimits& limits = {});

  /// Per device model and problem, the fastest verified configuration of each kernel (ordered by
  /// device, space, problem, time), or of all kernels together with `per_kernel` false. CPU and GPU
  /// are different devices and never compete.
  std::vector<StoredResult> best(const Query& asked, bool per_kernel) const;

  /// The devices' bests for each problem, and how each GPU does with the others' (comparison.h).
  Comparison compare(const Query& query) const;

  /// For each space and device model, or each kernel of it, the `most` configurations that together
  /// lose least over all problems (stored_portfolio.h).
  std::vector<StoredPortfolio> portfolios(const Query& query, std::size_t most,
                                          bool per_kernel = false) const;

  /// The default values of each kernel that was right with them somewhere. Of the query, space,
  /// kernel and source count.
  std::vector<KernelDefaults> defaults(const Query& asked) const;

  /// Gives `take` each result in the order they were recorded; only the newest `limit`, 0 is all.
  void each_result(const Query& asked, std::size_t limit,
                   const std::function<void(StoredResult&&)>& take) const;

  /// The same, all of them in memory.
  std::vector<StoredResult> results(const Query& query, std::size_t limit = 0) const;

  /// What a report is made of (sections.h): of each problem on a device model at most about `most`
  /// results.
  std::vector<StoredSection> sections(const Query& asked, std::size_t most) const;

  /// For strategies that look elsewhere: read_findings() in findings.h. `in_log_too`: of a database
  /// that the run does not write.
  std::vector<Findings> findings(const std::string& space, const Device& device,
                                 const std::vector<Problem>& problems,
                                 bool in_log_too = false) const;

  /// Names of the kernels that results are stored of, each once.
  std::vector<std::string> kernels() const;

  /// The text of the space file that a run was given; empty: not known.
  std::string space_text(const std::string& run_id) const;

  /// In the order they began. Of the query, space, device, run and source count.
  std::vector<StoredRun> runs(const Query& asked) const;

  /// Differs from what it was before where another process has written since.
  std::int64_t data_version() const;

  /// Device models that a run of ours was begun on, sorted by name; without board or driver.
  std::vector<Device> devices() const;

 private:
  friend class LayeredStore;
  std::vector<StoredResult> results_of(const std::vector<std::int64_t>& ids,
                                       const Query& query) const;
  void each_of(const std::vector<std::int64_t>& ids, const Query& query,
               const std::function<void(StoredResult&&)>& take) const;

  std::unique_ptr<Connection> connection_;
};

}  // namespace smemtune::db
