#pragma once

#include "tuner/core/ranking.h"
#include "tuner/core/result.h"
#include "tuner/core/run.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

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

}  // namespace smemtune
