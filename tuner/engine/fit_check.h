#pragma once

#include "tuner/core/device.h"
#include "tuner/core/limits.h"
#include "tuner/core/result.h"
#include "tuner/core/space.h"

#include <map>
#include <string>
#include <vector>

namespace smemtune {

class WorkerPool;

/// A configuration of which it is asked whether it fits a device. It need not lie on the kernel's
/// lists of values.
struct FitQuestion {
  const KernelTemplate* kernel = nullptr;
  Problem problem;
  Configuration configuration;
};

/// Compiles each configuration for `device`, which need not be here, and judges it as a dry run
/// does. In the order asked; one that violates a constraint there has status `constraints` and
/// reason `constraint`. Throws UnavailableError when the compiler cannot compile for the device.
std::vector<Result> check_fit(const Space& space,
                              const std::map<std::string, KernelSource>& sources,
                              const std::vector<FitQuestion>& questions, const Device& device,
                              WorkerPool& pool);

/// The same without a compiler: judged by resources that were found elsewhere, one entry for each
/// launch.
Result judge_fit(const Space& space, const FitQuestion& question,
                 const std::vector<Resources>& resources, const Device& device);

}  // namespace smemtune
