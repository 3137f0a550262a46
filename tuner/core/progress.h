#pragma once

#include "tuner/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Progress of a run.
struct Progress {
  Problem problem;
  std::size_t problem_number = 0;  ///< Number of the problem, from 1.
  std::size_t problem_count = 0;
  std::string phase;       ///< One of `prepare`, `search`, `finals`.
  std::uint64_t done = 0;  ///< Number of the problem's configurations that have a result.
  /// Number of the problem's configurations; UINT64_MAX: too many to count.
  std::uint64_t valid = 0;
  std::uint64_t known = 0;  ///< Number of results, among `done`, that the log had already.
  std::uint64_t compiled = 0;
  std::uint64_t failed = 0;  ///< Number of results with any status but `correct`.
  std::optional<Result> best;
  /// Rate over the last seconds, without configurations that were known.
  double configurations_per_s = 0;
  /// `compiler` if the device is idle; `device` if compiled variants wait for it.
  std::string waiting_for;
  std::vector<std::string> compiling_hosts = {};  ///< Other hosts on which something is compiled.
  std::vector<std::string> hosts_away = {};       ///< Other hosts that are lost for now.
  double elapsed_s = 0;
  /// Chance that something more than `chance_percent` faster is left; nullopt where it is not known.
  std::optional<double> chance_of_better = std::nullopt;
  double chance_percent = 1;
  /// Remaining time of the search; nullopt until it can be estimated honestly.
  std::optional<double> remaining_s;
};

}  // namespace smemtune
