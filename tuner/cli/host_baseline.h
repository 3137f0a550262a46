#pragma once

#include "tuner/config/space_file.h"
#include "tuner/core/device.h"
#include "tuner/core/summary.h"

#include <optional>
#include <string>

namespace smemtune::cli {

/// The time that one thread of the host takes to compute what the kernels compute, as a baseline.
struct HostBaseline {
  Problem problem;
  /// The reference kernel, which is run as a sequential loop over its elements.
  std::string kernel;
  std::string compiler;  ///< The host's compiler.
  double time_ms = 0;    ///< Time of one run, after a first one that touched the memory.
  std::map<std::string, double> metrics;
};

/// Runs the default configuration of the reference kernel, compiled by the host's C++ compiler,
/// with one thread in a separate process. Uses the largest of the space's problems that takes a few
/// seconds at most (4e9 operations, or bytes if no operations are counted); nullopt if there is
/// none. Throws UnavailableError with the reason if the kernel does not run.
std::optional<HostBaseline> measure_host(const LoadedSpace& loaded, const Device& limits);

/// Returns text for the end of a run's summary that compares the host with each problem's best.
std::string host_text(const HostBaseline& host, const TuningSummary& summary);

}  // namespace smemtune::cli
