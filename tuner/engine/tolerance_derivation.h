#pragma once

#include "tuner/backend/launcher.h"
#include "tuner/core/derived_tolerance.h"
#include "tuner/core/outcome.h"
#include "tuner/engine/messages.h"
#include "tuner/engine/verifier.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

// How far a correct kernel may be off, from how far the reference itself is off.
//
// The reference's outputs r are held against d, the same computed in double precision from the same
// inputs. Rounding r to its type costs half a unit in the last place (ulp) of every kernel; what
// r is off beyond that, e = max(0, |r - d| - ulp(d) / 2), comes from its sums and functions and
// differs with their order. An element of another kernel may be off by
//
//   factor * (absolute + relative * |d|) + 4 ulp(d)
//
// where absolute + relative * |d| >= e for every element of the reference, and is least in the
// geometric mean over all of them (of the lines through the upper hull of e over |d|). So sums that
// cancel, whose error has nothing to do with their value, get an absolute tolerance, and what is
// wrong in proportion gets a relative one. Of fewer than 32 elements the largest error counts.
//
// To measure by the error of a trusted computation against float64 is what PyTorch's compiler tests
// (torch/_dynamo/utils.py, same(): 2 to 10 times its root mean square) and those of FlashAttention
// (twice its largest) do; LAPACK's and MAGMA's testers let 30 times the machine's precision pass,
// relative to a norm, as errors of single elements of sums that cancel mean nothing. Ours has to
// let other orders of summation pass: for n terms of either sign, one after the other is off by
// sqrt(n / (2 log2 n)) times as much as pairwise summation, 13 times for n = 4096, hence 16.

namespace smemtune {

/// Errors of an output of the reference.
class OwnErrors {
 public:
  explicit OwnErrors(ScalarType type) : type_(type) {}

  /// One data set: what is exact and what the reference gave, element by element.
  void add(std::span<const double> exact, std::span<const double> own);

  std::uint64_t elements() const { return elements_; }
  double largest_error() const { return largest_error_; }
  std::size_t largest_error_at() const { return largest_error_at_; }  ///< In its data set.
  double exact_there() const { return exact_there_; }
  double own_there() const { return own_there_; }
  double largest_value() const { return largest_value_; }

  struct Line {
    double absolute = 0;
    double relative = 0;
  };
  /// See above.
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
  std::map<int, Bin> bins_;  ///< Elements of about one size each: a few hundred at most.
};

/// Outputs by name.
using Outputs = std::map<std::string, std::vector<double>>;

/// Computes a workload's outputs in double precision.
using ExactRun = std::function<Outcome<Outputs>(const Check&, const NumberedWorkload&)>;

/// How the reference is run in double precision.
struct DoubleReference {
  std::string truth;  ///< DerivedTolerance::truth.
  /// Whether the reference may be wrong in a way that the exact run is not, so that only errors as
  /// small as those of rounding are believed.
  bool is_independent = false;
  double factor = 1;
  ExactRun run = {};
};

/// What comparing needs to know.
struct Derived {
  std::vector<DerivedTolerance> tolerances;  ///< Of outputs of types narrower than double.
  std::map<WorkloadId, Outputs> exact;       ///< Of each workload of the checks.
};

/// Runs the reference on the checks' workloads as it is and in double precision, on further data
/// where outputs are so small that a few errors would say little. Failure when either run fails, or
/// when they differ by more than rounding.
Outcome<Derived> derive_tolerances(Launcher& launcher, std::span<const Check> reference,
                                   const std::map<WorkloadId, NumberedWorkload>& workloads,
                                   const DoubleReference& in_double);

/// Runs a kernel of which every floating argument is a double (`handles`, by the problem's key).
ExactRun kernel_in_double(Launcher& launcher, std::map<std::string, KernelHandle> handles);

/// Evaluates definitions on the host.
ExactRun definitions_in_double(Launcher& launcher, std::vector<ExpressionText> definitions);

}  // namespace smemtune
