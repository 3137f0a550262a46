#pragma once

#include "tuner/core/device.h"
#include "tuner/core/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Progress of a run.
struct Progress {
  std::size_t problem_number = 0;  ///< Number of the problem, from 1.
  std::size_t problem_count = 0;
  std::string phase;       ///< One of `prepare`, `search`, `finals`.
  std::uint64_t done = 0;  ///< Number of the problem's configurations that have a result.
  /// Number of the problem's configurations; UINT64_MAX: too many to count.
  std::uint64_t valid = 0;
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

/// Callbacks for the events of a run. They are called from the thread that called tune().
struct Observer {
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  std::function<void(const Result&, bool known)> result = [](const Result&, bool) {};
  std::function<void(const std::string&)> note = [](const std::string&) {};  ///< A line for people.
  /// Asked before devices are first given work, and again until it returns true; compilers work
  /// meanwhile.
  std::function<bool()> may_use_devices = [] { return true; };
  /// Called when the finals of a problem begin on this device.
  std::function<void(const Device&)> before_finals = [](const Device&) {};
};

}  // namespace smemtune
