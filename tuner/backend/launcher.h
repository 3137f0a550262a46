#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/core/device.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/error.h"
#include "tuner/core/facts.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/measurement.h"
#include "tuner/core/outcome.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// The arguments of a problem, with contents from one seed. All kernels of the problem run on it.
struct Workload {
  std::vector<Argument> arguments;  ///< Every buffer and scalar that some kernel names.
  std::uint64_t seed = 0;

  bool operator==(const Workload&) const = default;
};

/// Identifies one of the workloads that are prepared at the same time; chosen by the caller.
using WorkloadId = int;

/// Identifies a kernel that is loaded on the device; chosen by the launcher.
using KernelHandle = int;

/// A loaded kernel and the driver's data on each launch.
struct LoadedKernel {
  KernelHandle handle = 0;
  struct Launch {
    Resources resources;    ///< From the driver's attributes; spill bytes and barriers are 0.
    int blocks_per_sm = 0;  ///< Blocks by the driver's occupancy calculation; -1 when not known.

    bool operator==(const Launch&) const = default;
  };
  std::vector<Launch> launches;

  bool operator==(const LoadedKernel&) const = default;
};

/// The worst element of an output, or another fault that a check of the results found.
struct Mismatch {
  std::string argument;
  /// `mismatch`, `nan` (or infinity), `unwritten` (the poison is still there), `overrun` (a guard
  /// zone was written), `input_modified`, `shared_overrun`, `uninitialized_shared`, ...
  std::string reason;
  /// Index of the first wrong element; negative or past the end means a guard zone.
  std::int64_t index = 0;
  double value = 0;
  double expected = 0;     ///< NaN when not known, as for a reference.
  std::int64_t count = 0;  ///< Number of wrong elements; 0 when `value` is the sum of all elements.
  /// All digits of `value` and `expected` if these are integers; else empty.
  std::string exact_value = {};
  std::string exact_expected = {};

  bool operator==(const Mismatch&) const = default;
};

struct RunRequest {
  WorkloadId workload = 0;
  /// Keep the outputs as the reference of later runs on this workload, instead of comparing them.
  bool as_reference = false;
  Tolerance tolerance;
  /// Tolerances of the outputs that have their own, by name.
  std::map<std::string, Tolerance> tolerances = {};
  /// Buffers to return as the launches left them...
  std::vector<std::string> download;
  std::vector<std::string> download_before = {};  ///< ... and as they were before the launches.
  /// With as_reference: values to keep instead of an output's, by name, rounded to the output's
  /// type.
  std::map<std::string, std::vector<double>> reference = {};

  const Tolerance& tolerance_of(const std::string& output) const {
    const auto own = tolerances.find(output);
    return own == tolerances.end() ? tolerance : own->second;
  }

  bool operator==(const RunRequest&) const = default;
};

struct RunReport {
  std::optional<Mismatch> mismatch;  ///< The first kind that was found; nullopt if there is none.
  double max_absolute_error = 0;     ///< Largest error of all elements of all outputs.
  double max_relative_error = 0;     ///< Largest |x - r| / |r| of those where r is not 0.
  double elapsed_ms = 0;             ///< Rough time of the launches: a first guess.
  std::map<std::string, EncodedArray> before;  ///< The buffers of `download_before`...
  std::map<std::string, EncodedArray> after;   ///< ... and of `download`.

  bool operator==(const RunReport&) const = default;
};

/// An output as the reference left it.
struct KeptOutput {
  std::string name;
  std::int64_t elements = 0;
  /// Elements that differ from their initial values; all elements of an output that began as
  /// poison.
  std::int64_t changed = 0;
  bool is_constant = false;  ///< True if all elements are equal.
  double largest = 0;        ///< Largest magnitude of a finite floating-point element.

  bool operator==(const KeptOutput&) const = default;
};

/// New bytes for elements of an output, from element `first` on, in place of the reference's.
struct Edit {
  std::string output;
  std::int64_t first = 0;
  std::vector<std::uint8_t> bytes;
};

struct TimeRequest {
  WorkloadId workload = 0;
  /// Tolerances of the outputs in the launches that are compared, by name; an output without one
  /// has its type's default.
  std::map<std::string, Tolerance> tolerances = {};
  int samples = 1;
  /// Flush the L2 before each sample, or rotate over more copies of the buffers than it holds.
  bool cold = true;
  double min_sample_us = 100;  ///< Launch shorter kernels several times per sample...
  int max_launches_per_sample = 256;
  int launches_per_sample = 0;  ///< ... or exactly this many times, when not 0.
  double stop_above_ms = 0;     ///< Stop after the first slower sample; 0: never.
  double enough_ms = 0;         ///< Stop when all samples together took this long; 0: never.
  double gap_ms = 0;            ///< Idle time before each sample, against throttling.
  bool with_transfers = false;  ///< Time the copies between host and device as well, once.
  bool each_launch = false;     ///< Time every launch of the kernel by itself instead.

  bool operator==(const TimeRequest&) const = default;

  /// Returns true if no sample is wanted after one of `last_ms` per launch, when all samples
  /// together took `all_ms`.
  bool ends_after(double last_ms, double all_ms) const {
    return (stop_above_ms > 0 && last_ms > stop_above_ms) || (enough_ms > 0 && all_ms >= enough_ms);
  }
};

struct TimeReport {
  /// The fault of a timed launch. It ends the series, and no time may be used then.
  std::optional<Mismatch> mismatch = std::nullopt;
  std::vector<double> samples_ms;  ///< Time per launch of the whole kernel (all its launches).
  int launches_per_sample = 1;
  int discarded = 0;        ///< Samples repeated because the clock had dropped.
  double sm_clock_mhz = 0;  ///< 0 when not known.
  /// True if the clock stayed low and some samples were taken nevertheless.
  bool throttled = false;
  std::optional<Transfers> transfers;
  /// With each_launch, which leaves no samples: time of each launch that load() was given, all its
  /// repetitions together; the median over as many passes as samples were asked for.
  std::vector<double> launches_ms = {};

  bool operator==(const TimeReport&) const = default;
};

/// The part of a kernel that look() has checked.
struct LookReport {
  std::uint64_t blocks = 0;        ///< Number of blocks that were run, of all launches...
  std::uint64_t blocks_total = 0;  ///< ... and of blocks that these launches have.

  bool operator==(const LookReport&) const = default;
};

/// Facts of a kernel's launches beside their times.
struct FactsReport {
  std::vector<Facts> launches;  ///< One for each launch that load() was given.
  std::string refused;          ///< Why nothing is told; empty if something is.

  bool operator==(const FactsReport&) const = default;
};

/// Runs kernels on one device. Lives in a device worker, which may be killed or die.
///
/// Every buffer lies between guard zones of 4 KB. A checked run restores `input` and `inout`
/// buffers from their initial contents, fills `output` buffers (without an init of their own) with
/// poison (contents.h) and the guard zones with a pattern, launches, waits, and checks every
/// element, every guard zone and every input. Failures of the kernel are data; errors of the device
/// are UnavailableError.
///
/// A timed launch gets data that its module has not seen (fresh_data.h), at addresses that tell it
/// nothing, with outputs and scratch poisoned and guard zones intact. One launch of every sample,
/// chosen at random and often the last, gets data for which the reference has given answers
/// (draw_data), if there are any, or else the workload's own data; its outputs are compared with
/// the reference's. Nothing is compared if the workload has no reference. A launch that only tells
/// how many launches make a sample is the second one on the same data, so that a kernel that does
/// less on known data is found.
class Launcher {
 public:
  virtual ~Launcher() = default;

  virtual Device device() const = 0;

  /// Allocates and fills the buffers, replaces an earlier workload of that id, and returns the
  /// bytes that the buffers take. Failure `runtime`, `device_memory` when they do not fit.
  virtual Outcome<std::int64_t> prepare(WorkloadId id, const Workload& workload) = 0;

  /// Loads a kernel. `launches` refer to entries of `compiled` by name expression and to arguments
  /// by name. A handle of 0 or more is replaced; -1 asks for a new one. Empty `launches` unload the
  /// handle.
  virtual Outcome<LoadedKernel> load(KernelHandle handle, const CompiledKernel& compiled,
                                     const std::vector<LaunchShape>& launches,
                                     const std::vector<Argument>& arguments) = 0;

  /// Returns the bytes with which an argument of the workload begins.
  virtual std::vector<std::uint8_t> contents(WorkloadId /*workload*/,
                                             const std::string& /*argument*/) {
    return {};
  }

  virtual Outcome<RunReport> run(KernelHandle handle, const RunRequest& request) = 0;

  /// Draws data for timed launches and keeps the reference's answers for them, where kernels cannot
  /// see them; of several such sets the oldest gives way. Returns true if there is a set now; false
  /// when nothing can be drawn anew, memory is short or the reference gives no numbers.
  virtual Outcome<bool> draw_data(KernelHandle reference, WorkloadId workload) = 0;
  /// Returns the outputs that the last reference run on the workload has kept; empty for a launcher
  /// that keeps none.
  virtual std::vector<KeptOutput> kept(WorkloadId /*workload*/) { return {}; }

  /// Returns the bytes of these elements of a kept output, one after the other; of all if `at` is
  /// empty; none of an output that is not kept.
  virtual std::vector<std::uint8_t> kept_elements(WorkloadId /*workload*/,
                                                  const std::string& /*output*/,
                                                  std::span<const std::int64_t> /*at*/) {
    return {};
  }

  /// Returns what run() would find if the kernel wrote the kept outputs, with these edits.
  virtual Outcome<RunReport> compare(KernelHandle /*handle*/, const RunRequest& /*request*/,
                                     const std::vector<Edit>& /*edits*/) {
    return RunReport();
  }

  /// Brings the device to the clock at which it times, so that the first time() need not.
  virtual void warm_up() {}

  virtual Outcome<TimeReport> time(KernelHandle handle, const TimeRequest& request) = 0;

  /// Runs as many blocks as fit into `seconds`, spread over the grid and at least one, and checks
  /// each of their memory accesses; compares no results. A launch of which not all blocks were run
  /// is the last one. Only for a device that sees accesses (CpuLauncher).
  virtual Outcome<LookReport> look(KernelHandle /*handle*/, WorkloadId /*workload*/,
                                   double /*seconds*/) {
    throw UnavailableError(device().name + " does not see the accesses of its kernels");
  }

  /// Launches the kernel as often as the device's counters need, each time on the workload's own
  /// data with a cold L2 cache, and compares nothing.
  virtual Outcome<FactsReport> count(KernelHandle /*handle*/, WorkloadId /*workload*/) {
    return FactsReport{.launches = {}, .refused = device().name + " has no counters"};
  }

  /// Repeats the kernel for at least `seconds` and reads the energy that the device takes
  /// (kEnergyFacts), which is told with the first launch. Buffers are filled once, so a launch may
  /// find what an earlier one has left; nothing is compared. Reads clocks and limits, and sets none.
  virtual Outcome<FactsReport> energy(KernelHandle /*handle*/, WorkloadId /*workload*/,
                                      double /*seconds*/) {
    return FactsReport{.launches = {}, .refused = device().name + " does not tell its energy"};
  }
};

}  // namespace smemtune
