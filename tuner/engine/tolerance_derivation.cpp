#include "tuner/engine/tolerance_derivation.h"

#include "tuner/backend/tolerances.h"
#include "tuner/core/definition.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"
#include "tuner/source/in_double.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace smemtune {

namespace {

// Elements of an output over all data sets; with fewer, the largest error says little.
constexpr std::uint64_t kEnoughElements = 32;
constexpr std::size_t kMostDataSets = 8;

// Share of the largest element. A larger difference in two precisions means another computation.
constexpr double kMostOfKernel = 1.0 / 16;

// The same against a definition, in ulps: about the error of a float sum of 65,536 terms of one
// sign. Sums of a 16-bit type should be kept in float.
constexpr double kMostUlpsOfFloat = 256;
constexpr double kMostUlpsOf16Bits = 4;

// Ids that no workload of a problem set has.
constexpr WorkloadId kExactWorkload = 1 << 24;
constexpr WorkloadId kFurtherWorkload = kExactWorkload + 1;
constexpr std::uint64_t kSeedStep = 1000;

double ulp_of(double value, ScalarType type) {
  return allowed_error({.absolute = {}, .relative = {}, .ulps = 1}, type, value);
}

bool is_compared_in_double(const Argument& argument) {
  return argument.is_result() && !argument.in_constant_memory() && is_narrow(argument.type) &&
         !argument.compares_sorted;
}

bool is_random(const Workload& workload) {
  return std::ranges::any_of(workload.arguments, [](const Argument& argument) {
    return argument.is_buffer() && argument.is_random();
  });
}

Failure not_rounding(const OwnErrors& errors, const std::string& output, const std::string& truth,
                     const std::string& label) {
  return failure({Status::correctness, "double"},
                 output + "[" + std::to_string(errors.largest_error_at()) + "] is " +
                     significant(errors.own_there(), 9) + ", but " + truth + " gives " +
                     significant(errors.exact_there(), 9) + " on " + label +
                     ", which is more than rounding (elements up to " +
                     significant(errors.largest_value(), 3) + ")");
}

Failure not_derived(Failure failure) {
  failure.detail += ", so that no tolerance can be derived; give absolute, relative or ulps";
  return failure;
}

/// The checks of one problem and what is known of its outputs.
class ProblemErrors {
 public:
  ProblemErrors(Launcher& launcher, const DoubleReference& in_double, Derived& derived)
      : launcher_(launcher), in_double_(in_double), derived_(derived) {}

  std::optional<Failure> run(const Check& check, const NumberedWorkload& workload) {
    Outcome<Outputs> exact = in_double_.run(check, workload);
    if (!exact) return not_derived(exact.failure());
    RunRequest request = {.workload = check.workload,
                          .as_reference = true,
                          .tolerance = check.tolerance,
                          .download = {}};
    for (const Argument& argument : workload.workload.arguments) {
      if (is_compared_in_double(argument)) request.download.push_back(argument.name);
    }
    const Outcome<Outputs> own = run_reference(launcher_, check, request);
    if (!own) return own.failure();
    Outputs compared;
    for (const Argument& argument : workload.workload.arguments) {
      if (!is_compared_in_double(argument)) continue;
      const auto truth = exact->find(argument.name);
      if (truth == exact->end()) {
        return not_derived(
            failure({Status::correctness, "double"},
                    "nothing says what " + argument.name + " is in double precision"));
      }
      OwnErrors& errors =
          errors_.try_emplace(argument.name, OwnErrors(argument.type)).first->second;
      if (argument.compares_sum) {
        errors.add(std::array{sum_of(truth->second)}, std::array{sum_of(own->at(argument.name))});
      } else {
        errors.add(truth->second, own->at(argument.name));
      }
      const double most =
          !in_double_.is_independent
              ? kMostOfKernel * errors.largest_value()
              : ulp_of(errors.largest_value(), argument.type) *
                    (size_of(argument.type) == 2 ? kMostUlpsOf16Bits : kMostUlpsOfFloat);
      const double rounding = ulp_of(errors.largest_value(), argument.type);
      // Written so that NaN fails.
      if (!(errors.largest_error() <= std::max(most, rounding))) {
        return not_derived(not_rounding(errors, argument.name, in_double_.truth, workload.label));
      }
      compared[argument.name] = std::move(truth->second);
    }
    if (check.workload != kFurtherWorkload) derived_.exact[check.workload] = std::move(compared);
    ++data_sets_;
    return std::nullopt;
  }

  /// Runs the check on further data until there are enough elements.
  std::optional<Failure> run_further(Check check, NumberedWorkload workload) {
    if (!is_random(workload.workload)) return std::nullopt;
    check.workload = kFurtherWorkload;
    workload.id = kFurtherWorkload;
    const std::string label = check.label;
    std::optional<Failure> failure;
    while (!failure && data_sets_ < kMostDataSets && !errors_.empty() && !is_enough()) {
      workload.workload.seed += kSeedStep;
      check.label = workload.label = label + ", data set " + std::to_string(data_sets_ + 1);
      const Outcome<std::int64_t> bytes = launcher_.prepare(kFurtherWorkload, workload.workload);
      failure = bytes ? run(check, workload) : std::optional(bytes.failure());
    }
    const bool lost = failure && failure->context_lost;
    if (!lost) launcher_.prepare(kFurtherWorkload, Workload{});
    return failure;
  }

  void add_tolerances(const std::string& problem) {
    for (const auto& [output, errors] : errors_) {
      const OwnErrors::Line line = errors.bound();
      derived_.tolerances.push_back({.problem = problem,
                                     .output = output,
                                     .truth = in_double_.truth,
                                     .factor = in_double_.factor,
                                     .absolute = line.absolute,
                                     .relative = line.relative,
                                     .largest_error = errors.largest_error(),
                                     .largest_value = errors.largest_value(),
                                     .elements = errors.elements(),
                                     .data_sets = static_cast<std::int32_t>(data_sets_)});
    }
  }

 private:
  bool is_enough() const {
    return std::ranges::all_of(
        errors_, [](const auto& named) { return named.second.elements() >= kEnoughElements; });
  }

  Launcher& launcher_;
  const DoubleReference& in_double_;
  Derived& derived_;
  std::map<std::string, OwnErrors> errors_;
  std::size_t data_sets_ = 0;
};

}  // namespace

void OwnErrors::add(std::span<const double> exact, std::span<const double> own) {
  constexpr double kBinsPerOctave = 8;
  constexpr int kZero = -1'000'000;
  const std::size_t count = std::min(exact.size(), own.size());
  for (std::size_t i = 0; i < count; ++i) {
    const double value = std::abs(exact[i]);
    if (std::isinf(exact[i]) && own[i] == exact[i]) continue;
    const double error = std::abs(own[i] - exact[i]);
    // Once NaN, the largest error stays NaN.
    const bool is_larger = !std::isnan(largest_error_) && !(error <= largest_error_);
    if (elements_ + i == 0 || is_larger) {
      largest_error_ = error;
      largest_error_at_ = i;
      exact_there_ = exact[i];
      own_there_ = own[i];
    }
    largest_value_ = std::max(largest_value_, value);
    const double excess = std::max(0.0, error - ulp_of(exact[i], type_) / 2);
    const int key =
        value > 0 ? static_cast<int>(std::floor(kBinsPerOctave * std::log2(value))) : kZero;
    const auto [bin, is_new] = bins_.try_emplace(key, Bin{value, excess, 0});
    ++bin->second.elements;
    if (is_new) continue;
    bin->second.least_value = std::min(bin->second.least_value, value);
    bin->second.largest_error = std::max(bin->second.largest_error, excess);
  }
  elements_ += count;
}

OwnErrors::Line OwnErrors::bound() const {
  // The upper hull of the points (value, error), from the left.
  std::vector<Bin> hull;
  Line best;
  double steepest = 0;
  bool passes_zero = true;
  for (const auto& [key, point] : bins_) {
    best.absolute = std::max(best.absolute, point.largest_error);
    if (point.least_value > 0) {
      steepest = std::max(steepest, point.largest_error / point.least_value);
    } else if (point.largest_error > 0) {
      passes_zero = false;
    }
    const auto lies_below = [&hull, &point = point] {
      const Bin& first = hull[hull.size() - 2];
      const Bin& middle = hull.back();
      return (middle.largest_error - first.largest_error) *
                 (point.least_value - first.least_value) <=
             (point.largest_error - first.largest_error) * (middle.least_value - first.least_value);
    };
    while (hull.size() >= 2 && lies_below()) hull.pop_back();
    hull.push_back(point);
  }
  // A few errors do not show how they grow with the value.
  if (elements_ < kEnoughElements) return best;
  // The mean logarithm of the allowed errors; elements that are 0 do not count.
  const auto mean_logarithm = [&](const Line& line) {
    double sum = 0;
    for (const auto& [key, bin] : bins_) {
      if (bin.least_value == 0) continue;
      sum += bin.elements * std::log(line.absolute + line.relative * bin.least_value +
                                     kDerivedUlps * ulp_of(bin.least_value, type_));
    }
    return sum;
  };
  const auto consider = [&](const Line& line) {
    if (line.absolute < 0 || line.relative < 0) return;
    if (mean_logarithm(line) < mean_logarithm(best)) best = line;
  };
  if (passes_zero) consider({.absolute = 0, .relative = steepest});
  for (std::size_t i = 0; i + 1 < hull.size(); ++i) {
    const double width = hull[i + 1].least_value - hull[i].least_value;
    if (width <= 0) continue;
    const double slope = (hull[i + 1].largest_error - hull[i].largest_error) / width;
    consider({.absolute = hull[i].largest_error - slope * hull[i].least_value, .relative = slope});
  }
  return best;
}

Outcome<Derived> derive_tolerances(Launcher& launcher, std::span<const Check> reference,
                                   const std::map<WorkloadId, NumberedWorkload>& workloads,
                                   const DoubleReference& in_double) {
  Derived derived;
  for (auto first = reference.begin(); first != reference.end();) {
    const NumberedWorkload& of_first = workloads.at(first->workload);
    if (std::ranges::none_of(of_first.workload.arguments, is_compared_in_double)) {
      ++first;
      continue;
    }
    ProblemErrors problem(launcher, in_double, derived);
    const auto last = std::find_if(first, reference.end(), [&](const Check& check) {
      return workloads.at(check.workload).problem != of_first.problem;
    });
    for (auto check = first; check != last; ++check) {
      if (auto failure = problem.run(*check, workloads.at(check->workload))) return *failure;
    }
    if (auto failure = problem.run_further(*first, of_first)) return *failure;
    problem.add_tolerances(key(of_first.problem));
    first = last;
  }
  return derived;
}

ExactRun kernel_in_double(Launcher& launcher, std::map<std::string, KernelHandle> handles) {
  return [&launcher, handles = std::move(handles)](
             const Check& check, const NumberedWorkload& workload) -> Outcome<Outputs> {
    const std::string label = check.label + " in double precision";
    const auto handle = handles.find(key(workload.problem));
    if (handle == handles.end()) {
      return failure({Status::constraints, "double"},
                     "the reference cannot be launched on " + label);
    }
    Workload exact = {.arguments = {}, .seed = workload.workload.seed};
    RunRequest request = {
        .workload = kExactWorkload, .as_reference = true, .tolerance = {}, .download = {}};
    for (const Argument& argument : workload.workload.arguments) {
      exact.arguments.push_back(in_double(argument));
      if (is_compared_in_double(argument)) request.download.push_back(argument.name);
    }
    const Outcome<std::int64_t> bytes = launcher.prepare(kExactWorkload, exact);
    if (!bytes) {
      Failure failure = bytes.failure();
      failure.detail += " on " + label;
      return failure;
    }
    const Check run = {
        .handle = handle->second, .workload = kExactWorkload, .tolerance = {}, .label = label};
    Outcome<Outputs> outputs = run_reference(launcher, run, request);
    const bool lost = !outputs && outputs.failure().context_lost;
    if (!lost) launcher.prepare(kExactWorkload, Workload{});
    return outputs;
  };
}

ExactRun definitions_in_double(Launcher& launcher, std::vector<ExpressionText> definitions) {
  return [&launcher, definitions = std::move(definitions)](
             const Check& check, const NumberedWorkload& workload) -> Outcome<Outputs> {
    try {
      return evaluate_definitions(launcher, check, workload, definitions);
    } catch (const TooManyOperations& error) {
      return failure({Status::correctness, "double"},
                     "its definition cannot be evaluated on " + check.label + ": " + error.what());
    }
  };
}

}  // namespace smemtune
