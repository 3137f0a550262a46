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
  std::string label;  ///< Name of the workload, for messages.
  /// Tolerances by output that replace `tolerance` for outputs compared with a double-precision
  /// run.
  std::map<std::string, Tolerance> tolerances = {};
  /// Largest magnitudes that the reference writes, by output.
  std::map<std::string, double> largest_values = {};
  /// Tolerances by output in timed launches: the result of timed_tolerances().
  std::map<std::string, Tolerance> timed_tolerances = {};

  /// Returns the request to run the kernel and compare its outputs.
  RunRequest request() const {
    return {.workload = workload, .tolerance = tolerance, .tolerances = tolerances, .download = {}};
  }

  /// Returns the tolerance with which an output is compared.
  const Tolerance& tolerance_of(const std::string& output) const {
    const auto own = tolerances.find(output);
    return own == tolerances.end() ? tolerance : own->second;
  }
};

/// Returns how far outputs may differ from the reference's in timed launches: twice as far as in
/// checked runs. There the expected values may be exact, here they have the reference's errors; and
/// timed launches use many more data sets than a tolerance was derived from or tried on. A derived
/// one, and one without an absolute part, is at least kDerivedUlps of the output's largest value: where
/// terms cancel, some data leave a larger error than those that were tried. Integers without a
/// tolerance stay exact.
std::map<std::string, Tolerance> timed_tolerances(const Check& check, const Workload& workload);

/// Returns the failure for a mismatch. `where`: such as `on N=4096`.
Failure failure_of(const Mismatch& mismatch, const std::string& where);

/// The largest errors over all checks.
struct Verification {
  double max_absolute_error = 0;
  double max_relative_error = 0;
  double launched_ms = 0;  ///< Device time of the last check's launches.
};

/// Runs every check until one fails. A mismatch is a Failure of status `correctness`.
Outcome<Verification> verify(Launcher& launcher, std::span<const Check> checks);

/// Runs the reference on its workload, which keeps its outputs, or those in `exact`, for comparing
/// later runs with.
std::optional<Failure> keep_outputs(Launcher& launcher, const Check& reference,
                                    const std::map<std::string, std::vector<double>>& exact = {});

/// Runs the reference again, and fails unless it agrees with what keep_outputs() has kept.
std::optional<Failure> repeat_reference(Launcher& launcher, const Check& reference);

/// Runs the reference and returns the downloads of `request` after the launches.
Outcome<std::map<std::string, std::vector<double>>> run_reference(Launcher& launcher,
                                                                  const Check& reference,
                                                                  const RunRequest& request);

struct FittedTolerances {
  std::map<std::string, Tolerance> tolerances;  ///< Tolerances by output, which replace the types'
                                                ///< defaults.
  std::vector<std::string> notes;               ///< For people.
};

/// Checks whether a kernel that writes zeros would pass for the reference, that is, whether most of
/// an output that it has kept is no larger than the absolute tolerance: of a large output a sample.
/// If so, the default tolerance is scaled to fit the output; a tolerance that the space gives is
/// kept, and a note says so. Sums of more than 2^24 elements are not checked.
FittedTolerances fitted_tolerances(Launcher& launcher, const Check& reference,
                                   const Workload& workload);

/// Groups the kernels whose outputs differ from the reference's into classes that agree with each
/// other: where many agree, the reference may be the one that is wrong.
class OutputClasses {
 public:
  static constexpr int kNone = -1;

  /// Forgets everything. `reference`: a check on the workload that kernels will be compared on.
  void begin(const Check& reference, const NumberedWorkload& workload);

  /// Runs a kernel once more and returns the number of its class. Kernels whose outputs agree
  /// within the check's tolerance share a class. Returns kNone when the outputs are too large or
  /// seem equal to the reference's (of large outputs only some elements are compared), or when
  /// there would be one class too many.
  Outcome<int> classify(Launcher& launcher, const Check& check);

 private:
  /// Elements of each result.
  using Sample = std::map<std::string, std::vector<double>>;

  Outcome<Sample> sample(Launcher& launcher, const Check& check) const;
  bool agree(const Sample& a, const Sample& b, const Check& check) const;

  std::optional<Check> reference_;
  std::vector<Argument> results_;
  std::optional<Sample> right_;  ///< The reference's sample, taken when first needed.
  std::vector<Sample> classes_;
};

}  // namespace smemtune
