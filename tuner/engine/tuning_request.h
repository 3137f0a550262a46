#pragma once

#include "tuner/core/device.h"
#include "tuner/core/result.h"
#include "tuner/core/result_log.h"
#include "tuner/core/space.h"
#include "tuner/engine/tuning_options.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

class WorkerPool;

/// The CPU device of this machine, beside a GPU that is tuned.
struct CpuBeside {
  Device device;
  std::function<std::shared_ptr<WorkerPool>()> start;  ///< Starts its workers. Throws as WorkerPool
                                                       ///< does.
};

/// One run: every problem of `problems`, every kernel of `kernels`.
struct TuningRequest {
  const Space* space = nullptr;
  /// Kernels to search; the reference need not be among them.
  std::vector<const KernelTemplate*> kernels;
  /// Sources of all kernels of the space, by kernel name.
  std::map<std::string, KernelSource> sources;
  /// The reference's source in double precision, when tolerances are derived from it
  /// (space_file.h).
  std::optional<KernelSource> reference_in_double = std::nullopt;
  std::vector<Problem> problems;
  /// When not empty, only these are evaluated, in this order, whatever the strategy is. Those that
  /// are not among the problem's valid configurations are left out.
  std::vector<KernelConfiguration> only;
  /// Stored timings on other devices and problems, for strategies that use them.
  std::vector<PriorTimings> elsewhere;
  /// Returns further ones, which take longer to read; null: there are none. Called once, before the
  /// first search that no search in the log answers.
  std::function<std::vector<PriorTimings>()> further_elsewhere = nullptr;
  /// For the check of finalists that use shared memory; nullopt on the CPU device itself.
  std::optional<CpuBeside> cpu = std::nullopt;
  TuningOptions options;
  /// When the run's time began to count against the budget; nullopt: when tune() is called.
  std::optional<std::chrono::steady_clock::time_point> begun = std::nullopt;
};

}  // namespace smemtune
