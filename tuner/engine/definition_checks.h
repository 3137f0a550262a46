#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/compared_output.h"
#include "tuner/core/definition.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/verifier.h"

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

// Compares what the reference writes with definitions and with files.

namespace smemtune {

/// Limits on what is spent on comparing the outputs of all problems with definitions.
struct DefinitionBudget {
  std::uint64_t operations = 100'000'000;  ///< For whole outputs; each gets a sample besides.
  std::uint64_t sample = DefinitionEffort().sample;  ///< For a sample of each output.
  std::uint64_t host_bytes = 0;                      ///< For arrays on the host.
};

/// Comparisons that were made, and a sentence for each that could not be.
struct Comparisons {
  std::vector<ComparedOutput> compared;
  std::vector<std::string> notes;
};

/// Evaluates definitions in a thread of its own, while kernels are compiled and run: all elements of
/// an output when the budget allows that, else a random sample of them. The first data of each
/// problem come first, in the order of the workloads; little is spent on further data of a problem.
/// Definitions that read what the reference writes are evaluated when they are compared.
class DefinitionChecks {
 public:
  /// Begins with the definitions that read nothing but contents that are drawn.
  DefinitionChecks(Launcher& launcher, const std::vector<NumberedWorkload>& workloads,
                   std::vector<ExpressionText> definitions, const DefinitionBudget& budget);
  DefinitionChecks(const DefinitionChecks&) = delete;
  DefinitionChecks& operator=(const DefinitionChecks&) = delete;
  ~DefinitionChecks();

  /// Goes on with those that read other contents, once the launcher has prepared the workloads. A
  /// second call does nothing.
  void buffers_are_filled();

  bool are_of(const std::vector<NumberedWorkload>& workloads,
              const std::vector<ExpressionText>& definitions) const;

  /// Waits for the thread, and compares what is kept of a reference's run on its workload. Throws
  /// ExpressionError when a definition cannot be evaluated. Can be called once for each workload.
  Outcome<Comparisons> compare(const Check& reference);

 private:
  struct Job;
  /// The event that the evaluation of a job waits for.
  enum class Until : std::uint8_t { now, filled, run };
  void begin(Job& job);
  /// Evaluates the jobs that have waited until this.
  void evaluate(Until until);

  Launcher& launcher_;
  std::vector<ExpressionText> definitions_;
  DefinitionBudget budget_;
  std::uint64_t held_bytes_ = 0;  ///< Bytes of the arrays that the jobs hold.
  bool are_filled_ = false;       ///< True once buffers_are_filled() was called.
  std::vector<Job> jobs_;
  std::jthread thread_;  ///< Ends before what it works on.
};

/// Outputs by name.
using Outputs = std::map<std::string, std::vector<double>>;

/// Runs the reference on a workload and evaluates the definitions on the host in double precision.
/// Throws ExpressionError when a definition cannot be evaluated there, and TooManyOperations when
/// that would take too long.
Outcome<Outputs> evaluate_definitions(Launcher& launcher, const Check& reference,
                                      const NumberedWorkload& workload,
                                      const std::vector<ExpressionText>& definitions);

/// Compares what is kept of the reference's run on a workload with .npy files, by output. Throws
/// InputError for a file that cannot be read or has another shape or type.
Outcome<Comparisons> check_expected(Launcher& launcher, const Check& reference,
                                    const NumberedWorkload& workload,
                                    const std::map<std::string, DataFile>& expected);

}  // namespace smemtune
