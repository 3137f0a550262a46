#pragma once

#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/summary.h"

#include <optional>
#include <string>

namespace smemtune::cli {

/// What one thread of the host takes for what the kernels compute: the articles' starting point.
struct HostBaseline {
  Problem problem;
  std::string kernel;    ///< The reference, whose loop over one element at a time is run.
  std::string compiler;  ///< Of the host.
  double time_ms = 0;    ///< Of one run, after one that touched the memory.
  std::map<std::string, double> metrics;
};

/// Runs the reference kernel's default configuration, compiled by the host's C++ compiler, with one
/// thread, in a process of its own: on the largest of the space's problems that takes seconds at
/// most (4e9 operations, or bytes where no operations are counted). Nullopt when there is none.
/// Throws UnavailableError with the reason when it does not run.
std::optional<HostBaseline> measure_host(const LoadedSpace& loaded, const Device& limits);

/// For the end of a run's summary, with each problem's best beside it.
std::string host_text(const HostBaseline& host, const TuningSummary& summary);

}  // namespace smemtune::cli
