#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/derived_tolerance.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/definition_checks.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/verifier.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

// Derives the error allowed to a correct kernel from the error of the reference itself.
//
// The reference's outputs r are compared with d, the same computed in double precision from the
// same inputs. Rounding r to its type costs every kernel half a unit in the last place (ulp); the
// error of r beyond that, e = max(0, |r - d| - ulp(d) / 2), comes from its sums and functions and
// differs with their order. An element of another kernel may have an error of
//
//   factor * (absolute + relative * |d|) + 4 ulp(d)
//
// where absolute + relative * |d| >= e for every element of the reference, and is least in the
// geometric mean over all of them (among the lines through the upper hull of e over |d|). Thus sums
// that cancel, whose error is unrelated to their value, get an absolute tolerance, and errors
// proportional to the value get a relative one. With fewer than 32 elements the largest error
// counts.
//
// PyTorch's compiler tests (torch/_dynamo/utils.py, same(): 2 to 10 times the root mean square) and
// those of FlashAttention (twice the largest) also measure by the error of a trusted computation
// against float64; LAPACK's and MAGMA's testers allow 30 times the machine's precision, relative to
// a norm, as errors of single elements of sums that cancel mean nothing. Our factor has to allow
// other orders of summation: for n terms of either sign, sequential summation has sqrt(n / (2 log2
// n)) times the error of pairwise summation, 13 times for n = 4096, hence 16.

namespace smemtune {

/// Errors of an output of the reference.
class OwnErrors {
 public:
  explicit OwnErrors(ScalarType type) : type_(type) {}

  /// Adds a data set: the exact values and the reference's values, element by element.
  void add(std::span<const double> exact, std::span<const double> own);

  std::uint64_t elements() const { return elements_; }
  double largest_error() const { return largest_error_; }
  std::size_t largest_error_at() const { return largest_error_at_; }  ///< Index in its data set.
  double exact_there() const { return exact_there_; }
  double own_there() const { return own_there_; }
  double largest_value() const { return largest_value_; }

  struct Line {
    double absolute = 0;
    double relative = 0;
  };
  /// Returns the line described above.
  Line bound() const;

 private:
  struct Bin {
    double least_value = 0;
    double largest_error = 0;
    double elements = 0;
  };

  ScalarType type_;
  std::uint64_t elements_ = 0;
  double largest_error_ = 0;
  std::size_t largest_error_at_ = 0;
  double exact_there_ = 0;
  double own_there_ = 0;
  double largest_value_ = 0;
  std::map<int, Bin> bins_;  ///< Each bin holds elements of similar size; a few hundred at most.
};

/// Computes a workload's outputs in double precision.
using ExactRun = std::function<Outcome<Outputs>(const Check&, const NumberedWorkload&)>;

/// How to run the reference in double precision.
struct DoubleReference {
  std::string truth;  ///< See DerivedTolerance::truth.
  /// True if the reference may be wrong in a way that the exact run is not; then only errors as
  /// small as those of rounding are trusted.
  bool is_independent = false;
  double factor = 1;
  ExactRun run = {};
};

/// Tolerances and exact outputs for comparing.
struct Derived {
  std::vector<DerivedTolerance> tolerances;  ///< For outputs of types narrower than double.
  std::map<WorkloadId, Outputs> exact;       ///< Exact outputs by workload of the checks.
};

/// Runs the reference on the checks' workloads as it is and in double precision, and on further
/// data when outputs are so small that a few errors would say little. Returns a failure when either
/// run fails or when they differ by more than rounding.
Outcome<Derived> derive_tolerances(Launcher& launcher, std::span<const Check> reference,
                                   const std::map<WorkloadId, NumberedWorkload>& workloads,
                                   const DoubleReference& in_double);

/// Returns a run of a kernel whose floating arguments are all doubles. `handles`: by problem key.
ExactRun kernel_in_double(Launcher& launcher, std::map<std::string, KernelHandle> handles);

/// Returns a run that evaluates definitions on the host.
ExactRun definitions_in_double(Launcher& launcher, std::vector<ExpressionText> definitions);

}  // namespace smemtune
