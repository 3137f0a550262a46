#pragma once

#include "tuner/core/device.h"
#include "tuner/core/ranking.h"
#include "tuner/core/result.h"
#include "tuner/core/value.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// One tuning session: its device, compiler and settings. Results refer to it for their provenance.
struct Run {
  std::string id;            ///< 32 random hexadecimal digits.
  std::string space;         ///< Name of the space.
  std::string space_sha256;  ///< Hash of the space file's text.
  std::string space_json;
  Device device;
  /// Name of the compiler: `NVRTC 13.0`, or the host compiler's first line of output.
  std::string compiler;
  std::string compiler_sha256;  ///< Hash of libnvrtc and its builtins.
  std::string tool_version;
  std::string host;
  std::string strategy;
  std::uint64_t seed = 0;
  std::vector<std::string> command_line;
  double started_unix = 0;  ///< Start time in seconds since 1970, UTC.
};

/// Identifies a result on the device model of the run.
struct ResultKey {
  std::string kernel_hash;
  std::string kernel;
  Problem problem;
  Configuration configuration;
};

inline ResultKey key_of(const std::string& kernel_hash, const Result& result) {
  return {kernel_hash, result.kernel, result.problem, result.configuration};
}

/// The log to which results are written as they come, and in which a run looks up what is known
/// already. Only the parent process writes to it.
class ResultLog {
 public:
  virtual ~ResultLog() = default;

  /// Records that the configuration is about to touch the device, before it does, so that a
  /// configuration that takes the machine down is known after the restart.
  virtual void begin_attempt(const ResultKey& of) = 0;

  /// Stores the result and closes its attempt, in one transaction: the result survives kill -9 from
  /// the return of this function on (within in_transaction(), from the return of that).
  virtual void record(const std::string& kernel_hash, const Result& result) = 0;

  /// Returns how many attempts at this configuration were open when earlier runs ended together
  /// with their machine. A run of which only the process was killed does not count: that is no
  /// configuration's fault.
  virtual int lost_attempts(const ResultKey& of) = 0;

  /// Closes all attempts at this configuration, including lost ones: it did no harm, and has no new
  /// result.
  virtual void close_attempts(const ResultKey& of) = 0;

  /// Runs `writes` and stores what it begins and records in one transaction: all of it, or nothing.
  /// Its reads and writes share one lock.
  virtual void in_transaction(const std::function<void()>& writes) = 0;

  /// Returns the result that an earlier run on this device model found, unless its failure was
  /// transient (reasons.h) and fewer than two attempts failed in that way. After two attempts that
  /// ended with the process, returns a failure with the reason kQuarantined, whatever was found
  /// before.
  virtual std::optional<Result> find(const ResultKey& of) = 0;

  /// Returns the configurations that have results of this kernel on this problem and device model,
  /// those that were measured first first. The configuration of `of` is not read.
  virtual std::vector<Configuration> known(const ResultKey& of) = 0;

  /// Returns the bests of these kernels, whose hashes are given by name, on the device model of the
  /// run; results of earlier runs count as well.
  virtual Bests bests(const Problem& problem, const std::map<std::string, std::string>& hashes) = 0;
};

/// Largest number of PriorTimings that a search learns from.
inline constexpr std::size_t kMostPriorTimings = 4;

/// The best of a search that says what it may have missed.
struct PriorWinner {
  Configuration configuration;
  std::string cubin_sha256;
  Searched searched;
};

/// Times of a kernel's configurations measured elsewhere: on another device, or for another
/// problem.
struct PriorTimings {
  std::string device;
  std::string kernel;
  Problem problem;
  /// Distance of the device from the one that is tuned: 0 for the same model, 1 for the same
  /// compute capability, more for others.
  int device_distance = 0;
  std::vector<std::pair<double, Configuration>> timed;  ///< Times in milliseconds, in any order.
  /// The kernel's configuration that finals chose last among all kernels; nullopt if none was, or
  /// it is not known what they had been searched for.
  std::optional<PriorWinner> winner = std::nullopt;
  bool is_in_log = false;  ///< True for this device and problem in the run's own log.
};

/// A log that stores nothing, for measurements that are looked at once.
class NoLog final : public ResultLog {
 public:
  void begin_attempt(const ResultKey&) override {}
  int lost_attempts(const ResultKey&) override { return 0; }
  void close_attempts(const ResultKey&) override {}
  void record(const std::string&, const Result&) override {}
  void in_transaction(const std::function<void()>& writes) override { writes(); }
  std::optional<Result> find(const ResultKey&) override { return std::nullopt; }
  std::vector<Configuration> known(const ResultKey&) override { return {}; }
  Bests bests(const Problem&, const std::map<std::string, std::string>&) override { return {}; }
};

}  // namespace smemtune
