#pragma once

#include "tuner/core/result.h"
#include "tuner/core/run.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// What a result is about, on the device model of the run.
struct ResultKey {
  std::string kernel_hash;
  std::string kernel;
  Problem problem;
  Configuration configuration;
};

inline ResultKey key_of(const std::string& kernel_hash, const Result& result) {
  return {kernel_hash, result.kernel, result.problem, result.configuration};
}

/// The best configurations for a problem, by the rule that db/README.md states.
struct Bests {
  std::vector<Result> kernels;  ///< The best of each kernel: the best of all first, then by time.
  std::vector<Result> tied;     ///< Finalists that are statistically tied with the best of all.
};

/// Where results go as they come, and where a run looks for what is known already. One writer: the
/// parent process.
class ResultLog {
 public:
  virtual ~ResultLog() = default;

  /// Writes down that this configuration is about to touch the device, before it does, so that one
  /// that takes the machine down is known after the restart.
  virtual void begin_attempt(const ResultKey& of) = 0;

  /// Stores the result and closes its attempt, in one transaction: it survives kill -9 from here
  /// on (from the end of together(), within it).
  virtual void record(const std::string& kernel_hash, const Result& result) = 0;

  /// How many attempts at this configuration earlier runs had open when they ended with their whole
  /// machine. That a process alone was killed is no configuration's fault.
  virtual int lost_attempts(const ResultKey& of) = 0;

  /// Closes all attempts at this configuration, lost ones too: it did no harm, and has no new
  /// result.
  virtual void forgive_attempts(const ResultKey& of) = 0;

  /// What `writes` begins and records is stored in one transaction: all of it, or nothing.
  virtual void together(const std::function<void()>& writes) = 0;

  /// What an earlier run on this device model found, unless its failure was transient (reasons.h)
  /// and fewer than two attempts failed so. After two attempts that ended with the process it is a
  /// failure with the reason kQuarantined, whatever was found before.
  virtual std::optional<Result> find(const ResultKey& of) = 0;

  /// Returns the bests of these kernels, whose hashes are given by name, on the device model of the
  /// run; results of earlier runs count as well.
  virtual Bests bests(const Problem& problem, const std::map<std::string, std::string>& hashes) = 0;
};

}  // namespace smemtune
