#pragma once

#include "db/result_reader.h"
#include "db/rows.h"
#include "tuner/core/device.h"
#include "tuner/core/result_log.h"

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

/// The results database: one SQLite file, one writer process at a time, every acknowledged result
/// on disk (journal_mode=TRUNCATE, synchronous=FULL). ":memory:" for tests.
class ResultStore final : public ResultReader {
 public:
  enum class Mode { read_write_create, read_only };

  /// Throws StoreError saying what is wrong and what to do: not a database, another program's, a
  /// newer version, corrupt, locked for longer than `busy_timeout_ms`, a folder that cannot be
  /// written. The file is untouched then.
  explicit ResultStore(const std::filesystem::path& file, Mode mode = Mode::read_write_create,
                       int busy_timeout_ms = 30000);
  ~ResultStore() override;
  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) noexcept;

  /// The version of a database that a newer smemtune wrote: what this one knows of it is read.
  std::optional<std::int64_t> newer_version() const;

  /// Stores the run and returns the log that its results go to. Throws InputError for a GPU without
  /// a UUID: it is not here, and what a dry run finds is not stored. REQUIRES: the store outlives
  /// the log.
  std::unique_ptr<ResultLog> begin_run(const Run& run);

  /// Notes for other machines that the run goes on; to be called every kSignInterval_s at least.
  /// `hosts_state`: hosts that it waits for or does without, for people; empty: none.
  void note_alive(const std::string& run_id, const std::string& hosts_state);

  /// `outcome`: see StoredRun.
  void end_run(const std::string& run_id, const std::string& outcome);

  /// Returns everything of a run, by its whole id. Throws StoreError where there is none.
  RunRecord record_of(const std::string& run_id) const;

  /// Adds what is not known of a run. With an origin its results are imported ones: never among our
  /// own, and known also where another import brought the same. Of a run that goes on `next` puts
  /// each further record in the place of the one before it; without it what is given is added, and
  /// the rest may be added later. It is one transaction unless there is more of it than `limits`; a
  /// run of which only some is stored has no outcome, and adding it again adds the rest.
  Added add(RunRecord record, const std::function<void(RunRecord&)>& next = {},
            const AddLimits& limits = {});

  // The functions of ResultReader.
  std::vector<StoredResult> best(const Query& asked, bool per_kernel) const override;
  std::vector<StoredResult> candidates(const Query& asked) const override;
  Comparison compare(const Query& query) const override;
  std::vector<StoredPortfolio> portfolios(const Query& query, std::size_t most,
                                          bool per_kernel) const override;
  std::vector<KernelDefaults> defaults(const Query& asked) const override;
  void each_result(const Query& asked, std::size_t limit,
                   const std::function<void(StoredResult&&)>& take) const override;
  std::vector<StoredResult> one_of_each_kernel(const Query& asked) const override;
  void each_newest(const Query& asked,
                   const std::function<void(StoredResult&&)>& take) const override;
  std::vector<ProblemResults> sections(const Query& asked, std::size_t most) const override;
  std::vector<StoredRun> runs(const Query& asked) const override;
  std::vector<std::string> kernels() const override;
  Query exact(const Query& asked) const override;
  std::string space_text(const StoredResult& stored) const override;

  /// Returns what is stored about a space on devices of this kind: for each kernel and problem, the
  /// times from the kMostPriorTimings most similar combinations of device and problem, preferring
  /// the same problem, then the more similar device; and which one of each problem's kernels finals
  /// on this device chose last. Only the current version of an edited kernel counts. Other results
  /// are not read. `is_log`: the run writes this database, so that it finds by itself what is stored
  /// of this device with one of these problems; of such combinations only the winner is told.
  std::vector<PriorTimings> prior_timings(const std::string& space, const Device& device,
                                          const std::vector<Problem>& problems,
                                          bool is_log = true) const;

  /// Differs from what it was before where another process has written since.
  std::int64_t data_version() const;

  /// Device models that a run of ours was begun on, sorted by name; without board or driver.
  std::vector<Device> devices() const;

  /// The connection, for what reads the database by SQL of its own.
  const Connection& connection() const { return *connection_; }

 private:
  std::vector<StoredResult> results_of(const std::vector<std::int64_t>& ids,
                                       const Query& query) const;
  void each_of(const std::vector<std::int64_t>& ids, const Query& query,
               const std::function<void(StoredResult&&)>& take) const;

  std::unique_ptr<Connection> connection_;
};

}  // namespace smemtune::db
