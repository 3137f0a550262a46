#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/measurement.h"
#include "tuner/core/outcome.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// The arguments of a problem, with one seed's contents. All kernels of the problem run on it.
struct Workload {
  std::vector<Argument> arguments;  ///< Every buffer and scalar that any kernel names, by name.
  std::uint64_t seed = 0;

  bool operator==(const Workload&) const = default;
};

/// Numbers workloads that are prepared at the same time; the caller's choice.
using WorkloadId = int;

/// A kernel that is loaded on the device; the launcher's choice.
using KernelHandle = int;

/// A loaded kernel, and what the driver says of each launch.
struct LoadedKernel {
  KernelHandle handle = 0;
  struct Launch {
    Resources resources;    ///< From the driver's attributes; spill bytes and barriers are 0 there.
    int blocks_per_sm = 0;  ///< From the driver's occupancy calculation; -1 when not known.

    bool operator==(const Launch&) const = default;
  };
  std::vector<Launch> launches;

  bool operator==(const LoadedKernel&) const = default;
};

/// The worst element of an output, or what else was found wrong after a checked run.
struct Mismatch {
  std::string argument;
  /// `mismatch`, `nan` (or infinity), `unwritten` (the poison is still there), `overrun` (a guard
  /// zone was written), `input_modified`, `shared_overrun`, `uninitialized_shared`, ...
  std::string reason;
  std::int64_t index = 0;  ///< Of the first such element; negative or past the end: a guard zone.
  double value = 0;
  double expected = 0;     ///< NaN: not known, of a reference.
  std::int64_t count = 0;  ///< Such elements in all; 0: it is the sum of all elements.
  /// All digits of `value` and `expected`, where these are integers; else empty.
  std::string exact_value = {};
  std::string exact_expected = {};

  bool operator==(const Mismatch&) const = default;
};

struct RunRequest {
  WorkloadId workload = 0;
  /// Keep the outputs as what later runs on this workload are compared with, instead of comparing.
  bool as_reference = false;
  Tolerance tolerance;
  /// Of outputs that have a tolerance of their own, by name.
  std::map<std::string, Tolerance> tolerances = {};
  std::vector<std::string> download;  ///< Buffers to return as doubles, for the definition's check.
  /// With as_reference: by output, what to keep instead of it, rounded to its type.
  std::map<std::string, std::vector<double>> reference = {};

  const Tolerance& tolerance_of(const std::string& output) const {
    const auto own = tolerances.find(output);
    return own == tolerances.end() ? tolerance : own->second;
  }

  bool operator==(const RunRequest&) const = default;
};

struct RunReport {
  std::optional<Mismatch> mismatch;  ///< The first kind that was found; nullopt: all is well.
  double max_absolute_error = 0;     ///< Over all elements of all outputs.
  double max_relative_error = 0;     ///< |x - r| / |r| where r is not 0.
  double elapsed_ms = 0;             ///< Of the launches, roughly: a first guess of the time.
  std::map<std::string, std::vector<double>> before;  ///< The downloads, before the launches...
  std::map<std::string, std::vector<double>> after;   ///< ...and after them.
  /// Of the downloads that are 64-bit integers, which doubles do not hold: their bits, likewise.
  std::map<std::string, std::vector<std::uint64_t>> bits_before = {};
  std::map<std::string, std::vector<std::uint64_t>> bits_after = {};

  bool operator==(const RunReport&) const = default;
};

/// An output as the reference left it.
struct KeptOutput {
  std::string name;
  std::int64_t elements = 0;
  std::int64_t changed = 0;  ///< Elements that differ from what they began as; all of an output
                             ///< that began as poison.
  bool is_constant = false;  ///< Whether all elements are equal.

  bool operator==(const KeptOutput&) const = default;
};

/// Elements of an output from the `first` on, in place of the reference's.
struct Edit {
  std::string output;
  std::int64_t first = 0;
  std::vector<std::uint8_t> bytes;
};

struct TimeRequest {
  WorkloadId workload = 0;
  /// By output, how far it may lie from the reference's in the launches that are compared; where
  /// there is none, its type's default holds.
  std::map<std::string, Tolerance> tolerances = {};
  int samples = 1;
  bool cold = true;            ///< Flush the L2 before each sample, or rotate buffers beyond it.
  double min_sample_us = 100;  ///< Shorter kernels are launched several times per sample...
  int max_launches_per_sample = 256;
  int launches_per_sample = 0;  ///< ... or exactly so often, when not 0.
  double stop_above_ms = 0;     ///< Stop after the first sample that is slower; 0: never.
  double enough_ms = 0;         ///< Stop when the samples took so long together; 0: never.
  double gap_ms = 0;            ///< Idle time before each sample, against throttling.
  bool with_transfers = false;  ///< Time the copies between host and device as well, once.
  bool each_launch = false;     ///< Time every launch of the kernel by itself instead.

  bool operator==(const TimeRequest&) const = default;

  /// Whether no sample is wanted after one of `last_ms` per launch, when all took `all_ms`.
  bool ends_after(double last_ms, double all_ms) const {
    return (stop_above_ms > 0 && last_ms > stop_above_ms) || (enough_ms > 0 && all_ms >= enough_ms);
  }
};

struct TimeReport {
  /// What a timed launch got wrong, which ends the series; no time is to be used then.
  std::optional<Mismatch> mismatch = std::nullopt;
  std::vector<double> samples_ms;  ///< Per launch of the whole kernel (all its launches).
  int launches_per_sample = 1;
  int discarded = 0;        ///< Samples repeated because the clock had dropped.
  double sm_clock_mhz = 0;  ///< 0: not known.
  bool throttled = false;   ///< The clock stayed low: some samples were taken nevertheless.
  std::optional<Transfers> transfers;
  /// With each_launch, which leaves no samples: of each launch that load() was given, all its
  /// repetitions together; the median of so many times as samples were asked for.
  std::vector<double> launches_ms = {};

  bool operator==(const TimeReport&) const = default;
};

/// How much of a kernel was looked at.
struct LookReport {
  std::uint64_t blocks = 0;  ///< That were run, of all launches...
  std::uint64_t of = 0;      ///< ... which have so many.

  bool operator==(const LookReport&) const = default;
};

/// Runs kernels on one device. Lives in a device worker, which may be killed or die.
///
/// Every buffer lies between guard zones of 4 KB. A checked run restores `input` and `inout`
/// buffers from their initial contents, fills `output` buffers (without an init of their own) with
/// poison (contents.h) and the guard zones with a pattern, launches, waits, and looks at every
/// element, every guard zone and every input. Failures of the kernel are data; errors of the device
/// are UnavailableError.
///
/// A timed launch meets data that its module has not seen (fresh_data.h), at addresses that do not
/// tell, with outputs and scratch poisoned and guard zones as they should be. One launch of every
/// sample, chosen at random and often the last, meets data that the reference has answered, where
/// it has (draw_data) or else the workload's own; its outputs are compared with the reference's.
/// Nothing is compared where the workload has no reference. Where a launch only tells how many make
/// a sample, it is the second one on the same data: a kernel that then does less is found.
class Launcher {
 public:
  virtual ~Launcher() = default;

  virtual Device device() const = 0;

  /// Allocates and fills the buffers; replaces an earlier workload of that id. Failure `runtime`,
  /// `device_memory` when they do not fit.
  virtual Outcome<std::int64_t> prepare(WorkloadId id, const Workload& workload) = 0;

  /// `launches` refer to entries of `compiled` by name expression and to arguments by name. A
  /// handle of 0 or more is replaced; -1 asks for a new one. An empty `launches` unloads the
  /// handle.
  virtual Outcome<LoadedKernel> load(KernelHandle handle, const CompiledKernel& compiled,
                                     const std::vector<LaunchShape>& launches,
                                     const std::vector<Argument>& arguments) = 0;

  virtual Outcome<RunReport> run(KernelHandle handle, const RunRequest& request) = 0;

  /// Draws data for timed launches and keeps what the reference gives for them, out of the sight of
  /// kernels; of several such sets the oldest gives way. Returns whether there is one now: not
  /// where nothing can be drawn anew, memory is short or the reference gives no numbers.
  virtual Outcome<bool> draw_data(KernelHandle reference, WorkloadId workload) = 0;
  /// The outputs that the last reference run on the workload has kept; none of a launcher that keeps
  /// none.
  virtual std::vector<KeptOutput> kept(WorkloadId /*workload*/) { return {}; }

  /// Bytes of `count` elements of an output that is kept.
  virtual std::vector<std::uint8_t> kept_elements(WorkloadId /*workload*/,
                                                  const std::string& /*output*/,
                                                  std::int64_t /*first*/, std::int64_t /*count*/) {
    return {};
  }

  /// What run() would find if the kernel wrote what is kept, with these edits.
  virtual Outcome<RunReport> compare(KernelHandle /*handle*/, const RunRequest& /*request*/,
                                     const std::vector<Edit>& /*edits*/) {
    return RunReport();
  }

  virtual Outcome<TimeReport> time(KernelHandle handle, const TimeRequest& request) = 0;

  /// Runs as many blocks as fit into so many seconds, spread over the grid and at least one, to see
  /// what each of their accesses does; compares nothing. A launch that was not run whole is the
  /// last one. Only for a device that sees accesses (CpuLauncher).
  virtual Outcome<LookReport> look(KernelHandle /*handle*/, WorkloadId /*workload*/,
                                   double /*seconds*/) {
    throw UnavailableError(device().name + " does not see the accesses of its kernels");
  }
};

}  // namespace smemtune
