#pragma once

#include "tuner/core/derived_tolerance.h"
#include "tuner/engine/compile_queue.h"
#include "tuner/engine/observer.h"
#include "tuner/engine/tuning_request.h"
#include "tuner/engine/worker_pool.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A single configuration to be run outside a search.
struct OneConfiguration {
  const KernelTemplate* kernel = nullptr;
  Problem problem;
  Configuration configuration;  ///< Has every parameter; values need not be among those searched.
  int samples = 31;             ///< Number of cold samples.
  bool launch = true;           ///< If false, only compile and judge it.
  bool want_ptx = false;
  bool counters = false;  ///< Read hardware counters of its launches, after its times.
  bool energy = false;    ///< Repeat it and read its energy, after its times.
};

/// The result and what was compiled on the way.
struct OneResult {
  Result result;
  std::optional<CompileRequest> request;  ///< The request for the problem's module; nullopt if
                                          ///< planning failed.
  Module module;                          ///< Null if it did not compile.
  std::string ptx;                        ///< Empty unless wanted, and for CPUs.
  std::vector<DerivedTolerance> derived;  ///< Empty if none are derived or it was not launched.
  std::string no_counters;  ///< Why none were read though they were wanted; else empty.
  std::string no_energy;    ///< Why none was read though it was wanted; else empty.
  bool interrupted = false;
};

/// Compiles, judges, verifies and times one configuration in the pool's workers, as a run would.
/// Nothing is stored. `request` gives space, sources and options. Throws Error as tune() does.
OneResult run_one(const TuningRequest& request, const OneConfiguration& wanted,
                  const Device& device, WorkerPool& pool, const Observer& observer,
                  const std::atomic<bool>& stop);

}  // namespace smemtune
