#pragma once

#include "tuner/core/device.h"
#include "tuner/core/result.h"
#include "tuner/core/result_log.h"
#include "tuner/core/size_model.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

// Plain types of what the database holds, and of queries; their order and texts in exports.

namespace smemtune::db {

/// A file that results were imported from.
struct Origin {
  std::string format;  ///< `kernel-tuner`, `t4`, `ktt`, `smemtune-best`, `smemtune-database`.
  std::string file;    ///< Its path, as it was given.
  std::string file_sha256;
  std::string tool;    ///< The tool that wrote it, with its version if known.
  std::string device;  ///< Name in the file, or given at the import.
  double imported_unix = 0;

  bool operator==(const Origin&) const = default;
};

/// A stored result with its provenance.
struct StoredResult {
  /// Returns what it is of, for people: `space/kernel N=4096 on NVIDIA H200`.
  std::string subject() const;
  /// Returns why it is stale, as far as that is known.
  std::string why_stale() const;

  std::string space;
  std::string kernel_hash;
  Result result;  ///< With samples only if they were stored.
  Device device;  ///< The one it was measured on.
  std::string run_id;
  std::string compiler;
  std::string tool_version;
  std::string host;
  double at_unix = 0;
  std::int64_t model_id = 0;  ///< Id of the device model within its database.
  /// Whether its kernel's version is not the one that counts now: one of Query::versions, else the
  /// one that the device was given last.
  bool stale = false;
  std::string stale_because = {};  ///< The change since; empty if not known, or not stale.
  std::optional<Origin> origin;    ///< nullopt if a run of ours measured it.
  std::string shared_from = {};    ///< The shared file it is from; empty: one's own database.
};

/// Returns true if a tool other than smemtune measured it, which tells less than we do.
bool is_of_another_tuner(const StoredResult& stored);

/// Makes unknown what such a tool does not tell: the errors of its results, for which earlier
/// releases stored 0.
void forget_untold(StoredResult& stored);

/// A run with all its results, as it passes from one database to another.
struct RunRecord {
  struct Entry {
    std::int64_t number = 0;       ///< Within the run, from 1; 0: not known.
    std::string kernel_hash = {};  ///< Empty: not known.
    bool stale = false;
    double at_unix = 0;
    Result result;
  };
  Run run;
  std::optional<double> ended_unix;
  std::string outcome;
  std::optional<Origin> origin;
  std::vector<Entry> entries;
  bool goes_on = false;  ///< More of its entries come in a further record of the same run.
};

/// Numbers of results that were added, or not.
struct Added {
  std::uint64_t added = 0;
  std::uint64_t known = 0;
  std::uint64_t conflicting = 0;  ///< Stored too, beside another of the same name.

  Added& operator+=(const Added& other) {
    added += other.added;
    known += other.known;
    conflicting += other.conflicting;
    return *this;
  }
};

/// Limits of one transaction that adds many results. Other processes can read and not write
/// meanwhile; they wait for 30 s.
struct AddLimits {
  std::uint64_t results = 250'000;  ///< Their pages fit in memory until they are written.
  std::chrono::milliseconds time{4000};
  std::chrono::milliseconds pause{100};  ///< Pause in which others get their turn.
};

/// The values that a kernel's space file gives as its default, as they were when last measured.
struct KernelDefaults {
  std::string space;
  std::string kernel;
  Configuration configuration;
  /// The kernel's conditions of these names and its launches, as the space file had them; empty
  /// where nothing says so.
  std::vector<std::string> constraints = {};
  std::vector<std::string> promising = {};
  LaunchTexts launches = {};

  bool operator==(const KernelDefaults&) const = default;
};

/// Selects the results to answer with. Empty members mean all. A name means what is stored by that name,
/// else the one stored name that it is a part of (stored_names.h); who asks with one that may mean
/// several gets an InputError with the candidates.
struct Query {
  std::string space = {};
  std::string kernel = {};         ///< Its name, or `space/kernel`.
  std::string device = {};         ///< The model's name, or a board's UUID.
  std::string problem = {};        ///< A key, or NAME=VALUE pairs that must be among the problem's.
  std::string configuration = {};  ///< A key.
  std::string status = {};
  std::string run = {};          ///< How its id begins.
  std::string kernel_hash = {};  ///< Only this version of a kernel.
  /// `own`: what runs of ours measured; `imported`; `all`; or the file that it was imported from.
  std::string source = "own";
  /// The kernels as their space file is now, each a version_key(): results of other versions are
  /// stale. nullopt: results of other versions than their device was given last are.
  std::optional<std::vector<std::string>> versions = {};
  std::filesystem::path space_file = {};  ///< The file that `versions` are of.
  bool exact = false;                     ///< Every name is a stored one, to the letter.
  /// Only these devices are held against each other, named to the letter.
  std::vector<std::string> compared_devices = {};
};

/// A kernel's version, as a query names it.
inline std::string version_key(const std::string& kernel, const std::string& hash) {
  return kernel + "/" + hash;
}

/// A line of `smemtune list`.
struct StoredRun {
  std::string id;
  std::string space;
  std::string device;
  DeviceKind device_kind = DeviceKind::gpu;
  std::string host;  ///< Or several: `node1,node2`.
  std::string compiler;
  std::string strategy;
  std::uint64_t seed = 0;
  double started_unix = 0;
  std::optional<double> ended_unix;
  std::string outcome;        ///< `complete`, `interrupted`, `budget`, `failed`; empty: cut off.
  bool goes_on = false;       ///< Its process is at work on this machine, or may be on another.
  std::string hosts_state;    ///< While it goes on: what ResultStore::note_alive() was told last.
  std::string imported_from;  ///< A file; empty: it is ours.
  std::string shared_from = {};  ///< See StoredResult.
  std::uint64_t results = 0;
  std::uint64_t correct = 0;
};

enum class Failures { left_out, included };

/// Returns the results that every export contains, in its order: the verified and timed ones by
/// space, problem, device name and time. The order does not depend on the input order.
std::vector<const StoredResult*> in_export_order(const std::vector<StoredResult>& best,
                                                 Failures failures = Failures::left_out);

/// Sorts by space and kernel.
std::vector<KernelDefaults> in_export_order(std::vector<KernelDefaults> defaults);

/// Returns lines that begin with a line break: the first 20 subjects, and how many more there are.
std::string subject_lines(const std::vector<std::string>& subjects);

/// Returns text like `2026-11-21T14:03:07Z`; empty for times before 1970 or after the year 9999.
std::string utc_text(double unix_seconds);

/// Returns the work per second of a metric in units of 1e9 (GFLOP/s, GB/s). REQUIRES: the result
/// has the metric.
double giga_per_s(const Result& result, const std::string& metric);

/// Returns a key of 64 hex digits that is equal for devices whose results are interchangeable. It
/// covers kind, name, limits, memory, cache and ECC, but not the board, driver, runtime or clocks.
std::string device_model_key(const Device& device);

/// Returns the memory size that the device is sold with, in bytes. Drivers report a few per cent
/// less, and how much depends on their version, which must not make a different device model.
std::int64_t nominal_memory_bytes(std::int64_t reported_bytes);

}  // namespace smemtune::db
