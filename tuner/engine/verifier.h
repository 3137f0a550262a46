#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/compared_output.h"
#include "tuner/core/definition.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/messages.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

/// A loaded kernel and a workload on which it must be right.
struct Check {
  KernelHandle handle = 0;
  WorkloadId workload = 0;
  Tolerance tolerance;
  std::string label;  ///< Of the workload, for messages.
  /// Of outputs that are compared with a double-precision run, instead of `tolerance`.
  std::map<std::string, Tolerance> tolerances = {};
  /// Of every output, in timed launches: timed_tolerances().
  std::map<std::string, Tolerance> timed_tolerances = {};
};

/// How far outputs may lie from the reference's in timed launches: twice as far as in checked runs.
/// There the answer may be exact, here it is off as the reference is; and many more data sets are
/// met than those that a tolerance was derived from or tried on. Integers without one stay exact.
std::map<std::string, Tolerance> timed_tolerances(const Check& check, const Workload& workload);

/// What a mismatch is recorded as. `where`: `on N=4096`.
Failure failure_of(const Mismatch& mismatch, const std::string& where);

/// The worst over all checks.
struct Verification {
  double max_absolute_error = 0;
  double max_relative_error = 0;
  double launched_ms = 0;  ///< How long the launches of the last one took the device.
};

/// Runs every check until one fails. A mismatch is a Failure of status `correctness`.
Outcome<Verification> verify(Launcher& launcher, std::span<const Check> checks);

/// Makes the reference's outputs, or for those in `exact` these, what later runs on the workload
/// are compared with, once two runs of it agree.
std::optional<Failure> establish_reference(
    Launcher& launcher, const Check& reference,
    const std::map<std::string, std::vector<double>>& exact = {});

/// What the reference gives: the downloads of `request` after the launches.
Outcome<std::map<std::string, std::vector<double>>> run_reference(Launcher& launcher,
                                                                  const Check& reference,
                                                                  const RunRequest& request);

/// An output as it is defined, and as the reference gives it.
struct Defined {
  std::string output;
  std::string definition;
  HostArray expected;
  HostArray actual;
};

/// Runs the reference on a workload and evaluates the definitions on the host in double precision.
/// Throws ExpressionError when one cannot be evaluated there, and TooManyOperations when that would
/// take too long.
Outcome<std::vector<Defined>> evaluate_definitions(Launcher& launcher, const Check& reference,
                                                   const NumberedWorkload& workload,
                                                   const std::vector<ExpressionText>& definitions);

/// What holding a problem set's outputs against definitions may still cost.
struct DefinitionBudget {
  std::uint64_t operations = 200'000'000;  ///< For whole outputs; each gets a sample besides.
  std::uint64_t host_bytes = 0;            ///< For the arrays of one workload on the host.
};

/// What was held against something, and what could not be: a sentence each.
struct Comparisons {
  std::vector<ComparedOutput> compared;
  std::vector<std::string> notes;
};

/// Holds the reference's outputs on a workload against the definitions: all elements of an output
/// where the budget allows that, else a random sample of them. Throws ExpressionError when a
/// definition cannot be evaluated.
Outcome<Comparisons> check_definitions(Launcher& launcher, const Check& reference,
                                       const NumberedWorkload& workload,
                                       const std::vector<ExpressionText>& definitions,
                                       DefinitionBudget& budget);

/// Runs the reference on a workload and holds its outputs against .npy files, by output. Throws
/// InputError for a file that cannot be read or has another shape or type.
Outcome<Comparisons> check_expected(Launcher& launcher, const Check& reference,
                                    const NumberedWorkload& workload,
                                    const std::map<std::string, DataFile>& expected);

}  // namespace smemtune
