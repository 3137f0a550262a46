#pragma once

#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/limits.h"
#include "tuner/core/result.h"
#include "tuner/core/space.h"
#include "tuner/engine/module.h"

#include <map>
#include <string>
#include <vector>

namespace smemtune {

class WorkerPool;

/// A configuration to be checked for fitting a device. Its values need not be on the kernel's
/// lists.
struct FitQuestion {
  const KernelTemplate* kernel = nullptr;
  Problem problem;
  Configuration configuration;
};

/// Compiles each configuration for `device`, which need not be present, and judges it as a dry run
/// does. The results are in the order of the questions; a configuration that violates a constraint
/// there has status `constraints` and reason `constraint`. Throws UnavailableError when the
/// compiler cannot compile for the device.
std::vector<Result> check_fit(const Space& space,
                              const std::map<std::string, KernelSource>& sources,
                              const std::vector<FitQuestion>& questions, const Device& device,
                              WorkerPool& pool);

/// A configuration that fits, with what was compiled for it.
struct CompiledFit {
  KernelInstance instance;
  Module module;
};

/// Compiles each configuration for `device`, which need not be present. Throws what check_fit()
/// throws, and InputError for one that does not fit.
std::vector<CompiledFit> compile_fits(const Space& space,
                                      const std::map<std::string, KernelSource>& sources,
                                      const std::vector<FitQuestion>& questions,
                                      const Device& device, WorkerPool& pool);

/// Judges a configuration as check_fit() does without a compiler, by resources that were found
/// elsewhere, one entry for each launch.
Result judge_fit(const Space& space, const FitQuestion& question,
                 const std::vector<Resources>& resources, const Device& device);

}  // namespace smemtune
