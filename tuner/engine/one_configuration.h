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

/// One configuration by itself.
struct OneConfiguration {
  const KernelTemplate* kernel = nullptr;
  Problem problem;
  Configuration configuration;  ///< Every parameter; its values need not be among those searched.
  int samples = 31;             ///< Cold ones.
  bool launch = true;           ///< False: compile and judge it only.
  bool want_ptx = false;
};

/// What was found and what was compiled on the way.
struct OneResult {
  Result result;
  std::vector<LaunchShape> launches;
  std::optional<CompileRequest> request;  ///< Of the problem's module; nullopt: not even planned.
  Module module;                          ///< Null when it did not compile.
  std::string ptx;                        ///< Empty unless wanted; of GPUs only.
  std::vector<DerivedTolerance> derived;  ///< Where tolerances are and it was launched.
  bool interrupted = false;
};

/// Compiles, judges, verifies and times one configuration in the pool's workers, as a run would.
/// Nothing is stored. `request` gives space, sources and options. Throws Error as tune() does.
OneResult run_one(const TuningRequest& request, const OneConfiguration& wanted,
                  const Device& device, WorkerPool& pool, const Observer& observer,
                  const std::atomic<bool>& stop);

}  // namespace smemtune
