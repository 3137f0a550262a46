#pragma once

#include "tuner/core/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// What a run looks like while it goes on.
struct Progress {
  Problem problem;
  std::size_t problem_number = 0;  ///< From 1.
  std::size_t problem_count = 0;
  std::string phase;        ///< `prepare`, `search`, `finals`.
  std::uint64_t done = 0;   ///< Configurations with a result, of this problem...
  std::uint64_t valid = 0;  ///< ... of as many; UINT64_MAX: too many to count.
  std::uint64_t known = 0;  ///< Of `done`, those the log knew.
  std::uint64_t compiled = 0;
  std::uint64_t failed = 0;  ///< Any status but `correct`.
  std::optional<Result> best;
  double configurations_per_s = 0;  ///< Over the last seconds, without those that were known.
  /// `compiler`: the device is idle; `device`: compiled variants wait for it.
  std::string waiting_for;
  std::vector<std::string> compiling_hosts = {};  ///< Other hosts, where something is compiled...
  std::vector<std::string> hosts_away = {};       ///< ... and those that are lost for now.
  double elapsed_s = 0;
  std::optional<double> remaining_s;  ///< Of the search; nullopt until it can be said honestly.
};

}  // namespace smemtune
