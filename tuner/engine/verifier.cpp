#include "tuner/engine/verifier.h"

#include "tuner/backend/tolerances.h"
#include "tuner/core/derived_tolerance.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/hash.h"
#include "tuner/core/measurement.h"
#include "tuner/core/reasons.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace smemtune {

namespace {

std::string value_text(const Mismatch& mismatch) {
  return mismatch.exact_value.empty() ? told_apart(mismatch.value, mismatch.expected)
                                      : mismatch.exact_value;
}

std::string expected_text(const Mismatch& mismatch) {
  return mismatch.exact_expected.empty() ? told_apart(mismatch.expected, mismatch.value)
                                         : mismatch.exact_expected;
}

Failure failure_of_reference(const Mismatch& mismatch, const std::string& label) {
  Failure failure = failure_of(mismatch, "on " + label);
  if (mismatch.reason == "unwritten") {
    failure.detail +=
        "; if it is to leave elements as they are, the role of " + mismatch.argument + " is inout";
  }
  if (mismatch.reason == "nan") {
    failure.detail +=
        "; give its inputs an \"init\" and its scalars values for which it computes numbers";
  }
  return failure;
}

Failure on(const std::string& label, Failure failure) {
  failure.detail +=
      (failure.detail.empty() ? "on " : " (on ") + label + (failure.detail.empty() ? "" : ")");
  return failure;
}

constexpr std::int64_t kMostSummed = std::int64_t{1} << 24;  // 128 MB as doubles.
constexpr std::int64_t kMostSizes = std::int64_t{1} << 18;

/// Returns the elements of an output that the reference has kept: all, or of a large output that is
/// compared by elements a random one from each of kMostSizes equal parts. None of an output that is
/// not kept, or whose sum is of more than kMostSummed elements.
std::vector<double> elements_of(Launcher& launcher, WorkloadId workload, const Argument& output) {
  const std::int64_t all = output.elements();
  if (output.compares_sum && all > kMostSummed) return {};
  std::vector<std::int64_t> at;
  if (!output.compares_sum && all > kMostSizes) {
    for (std::int64_t i = 0; i < kMostSizes; ++i) {
      const std::int64_t begin = i * all / kMostSizes;
      const std::int64_t end = (i + 1) * all / kMostSizes;
      const std::uint64_t random = random_bits(kMostSizes, static_cast<std::uint64_t>(i));
      at.push_back(begin +
                   static_cast<std::int64_t>(random % static_cast<std::uint64_t>(end - begin)));
    }
  }
  return to_doubles(launcher.kept_elements(workload, output.name, at), output.type);
}

/// Returns the absolute values, those of 0 left out, of the sum of the elements or of each.
std::vector<double> sizes_of(const Argument& output, const std::vector<double>& elements) {
  std::vector<double> sizes;
  const auto add = [&](double value) {
    if (value != 0) sizes.push_back(std::abs(value));
  };
  if (output.compares_sum) {
    add(sum_of(elements));
  } else {
    std::ranges::for_each(elements, add);
  }
  return sizes;
}

void fit(const Argument& argument, std::vector<double> sizes, const Tolerance& given,
         const std::string& label, FittedTolerances& fitted) {
  if (sizes.empty()) return;
  Tolerance used = tolerance_for(given, argument.type);
  const auto passing = std::ranges::count_if(
      sizes, [&](double size) { return size <= allowed_error(used, argument.type, size); });
  if (2 * static_cast<std::size_t>(passing) <= sizes.size()) return;
  if (given.is_given()) {
    fitted.notes.push_back("*** the tolerance of " + argument.name +
                           " is larger than most of its elements on " + label +
                           ": zeros would be accepted in their place");
    return;
  }
  *used.absolute *= median(std::move(sizes));
  fitted.tolerances[argument.name] = used;
  fitted.notes.push_back("tolerance of " + argument.name + ": absolute " +
                         significant(*used.absolute, 2) + ", relative " +
                         significant(*used.relative, 2) +
                         "; the default for its type would accept zeros for elements this small");
}

constexpr std::int64_t kMostElements = 1 << 24;  // All results: 128 MB while they are compared.
constexpr std::size_t kMostKept = 1 << 18;       // Elements of a result, in each class.
constexpr std::size_t kMostClasses = 8;

/// Returns evenly spread elements, at most kMostKept.
std::vector<double> thinned(std::vector<double> elements) {
  const std::size_t stride = (elements.size() + kMostKept - 1) / kMostKept;
  if (stride <= 1) return elements;
  std::vector<double> kept;
  for (std::size_t i = 0; i < elements.size(); i += stride) kept.push_back(elements[i]);
  return kept;
}

}  // namespace

Failure failure_of(const Mismatch& mismatch, const std::string& where) {
  if (mismatch.count == 0) {
    return {.status = Status::correctness,
            .reason = mismatch.reason,
            .detail = "the sum of " + mismatch.argument + " is " + value_text(mismatch) +
                      ", expected " + expected_text(mismatch) + " " + where};
  }
  std::string detail = mismatch.argument + "[" + std::to_string(mismatch.index) + "] is ";
  if (mismatch.reason == "unwritten") {
    detail += "not written";
  } else if (mismatch.reason == "overrun") {
    detail += mismatch.index < 0 ? "written, before its beginning" : "written, past its end";
  } else {
    detail += value_text(mismatch);
    if (!std::isnan(mismatch.expected)) detail += ", expected " + expected_text(mismatch);
  }
  detail += " (" + std::to_string(mismatch.count) + " such elements) " + where;
  // It may have written beyond the guard zone, too: into other buffers, and into the expected
  // outputs that later kernels are compared with.
  return {.status = Status::correctness,
          .reason = mismatch.reason,
          .detail = std::move(detail),
          .context_lost = mismatch.reason == "overrun"};
}

std::map<std::string, Tolerance> timed_tolerances(const Check& check, const Workload& workload) {
  constexpr double kTimes = 2;
  std::map<std::string, Tolerance> wider;
  for (const Argument& argument : workload.arguments) {
    if (!argument.is_result()) continue;
    Tolerance& tolerance = wider[argument.name];
    tolerance = tolerance_for(check.tolerance_of(argument.name), argument.type);
    for (std::optional<double>* part :
         {&tolerance.absolute, &tolerance.relative, &tolerance.ulps}) {
      if (*part) **part *= kTimes;
    }
    const auto largest = check.largest_values.find(argument.name);
    const bool is_absolute = tolerance.absolute && !check.tolerance.derived;
    if (largest == check.largest_values.end() || is_absolute) continue;
    const double least = allowed_error({.absolute = {}, .relative = {}, .ulps = kDerivedUlps},
                                       argument.type, largest->second);
    tolerance.absolute = std::max(tolerance.absolute.value_or(0), least);
  }
  return wider;
}

Outcome<Verification> verify(Launcher& launcher, std::span<const Check> checks) {
  Verification worst;
  for (const Check& check : checks) {
    const Outcome<RunReport> report = launcher.run(check.handle, check.request());
    if (!report) return on(check.label, report.failure());
    if (report->mismatch) return failure_of(*report->mismatch, "on " + check.label);
    worst.max_absolute_error = std::max(worst.max_absolute_error, report->max_absolute_error);
    worst.max_relative_error = std::max(worst.max_relative_error, report->max_relative_error);
    worst.launched_ms = report->elapsed_ms;
  }
  return worst;
}

std::optional<Failure> keep_outputs(Launcher& launcher, const Check& reference,
                                    const std::map<std::string, std::vector<double>>& exact) {
  RunRequest request = reference.request();
  request.as_reference = true;
  request.reference = exact;
  const auto run = run_reference(launcher, reference, request);
  if (!run) return run.failure();
  return std::nullopt;
}

std::optional<Failure> repeat_reference(Launcher& launcher, const Check& reference) {
  const Outcome<Verification> again = verify(launcher, std::span(&reference, 1));
  if (again) return std::nullopt;
  Failure failure = again.failure();
  if (failure.status == Status::correctness) {
    failure.detail = "two runs of it do not agree: " + failure.detail;
  }
  return failure;
}

Outcome<std::map<std::string, std::vector<double>>> run_reference(Launcher& launcher,
                                                                  const Check& reference,
                                                                  const RunRequest& request) {
  Outcome<RunReport> report = launcher.run(reference.handle, request);
  if (!report) return on(reference.label, report.failure());
  if (report->mismatch) return failure_of_reference(*report->mismatch, reference.label);
  std::map<std::string, std::vector<double>> numbers;
  for (const auto& [name, array] : report->after) numbers[name] = array.doubles();
  return numbers;
}

FittedTolerances fitted_tolerances(Launcher& launcher, const Check& reference,
                                   const Workload& workload) {
  FittedTolerances fitted;
  for (const Argument& argument : workload.arguments) {
    if (!argument.is_result() || !is_floating(argument.type)) continue;
    fit(argument, sizes_of(argument, elements_of(launcher, reference.workload, argument)),
        reference.tolerance_of(argument.name), reference.label, fitted);
  }
  return fitted;
}

void OutputClasses::begin(const Check& reference, const NumberedWorkload& workload) {
  reference_ = reference;
  right_.reset();
  classes_.clear();
  results_.clear();
  std::int64_t elements = 0;
  for (const Argument& argument : workload.workload.arguments) {
    if (!argument.is_result() || argument.in_constant_memory()) continue;
    elements += argument.elements();
    results_.push_back(argument);
  }
  if (elements > kMostElements) results_.clear();
}

Outcome<int> OutputClasses::classify(Launcher& launcher, const Check& check) {
  if (!reference_ || results_.empty()) return kNone;
  if (!right_) {
    Outcome<Sample> right = sample(launcher, *reference_);
    if (!right) return right.failure();
    right_ = std::move(*right);
  }
  Outcome<Sample> own = sample(launcher, check);
  if (!own) return own.failure();
  if (agree(*own, *right_, check)) return kNone;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (agree(*own, classes_[i], check)) return static_cast<int>(i);
  }
  if (classes_.size() == kMostClasses) return kNone;
  classes_.push_back(std::move(*own));
  return static_cast<int>(classes_.size()) - 1;
}

Outcome<OutputClasses::Sample> OutputClasses::sample(Launcher& launcher, const Check& check) const {
  RunRequest request = check.request();
  for (const Argument& argument : results_) request.download.push_back(argument.name);
  Outcome<RunReport> report = launcher.run(check.handle, request);
  if (!report) return report.failure();
  Sample sample;
  for (const Argument& argument : results_) {
    std::vector<double> elements = report->after[argument.name].doubles();
    if (argument.compares_sorted) {
      std::ranges::sort(elements, is_before);
    }
    sample[argument.name] = argument.compares_sum ? std::vector<double>{sum_of(elements)}
                                                  : thinned(std::move(elements));
  }
  return sample;
}

bool OutputClasses::agree(const Sample& a, const Sample& b, const Check& check) const {
  return std::ranges::all_of(results_, [&](const Argument& argument) {
    const Tolerance tolerance = tolerance_for(check.tolerance_of(argument.name), argument.type);
    // Written so that NaN agrees with nothing.
    return std::ranges::equal(a.at(argument.name), b.at(argument.name), [&](double x, double y) {
      return x == y || std::abs(x - y) <= allowed_error(tolerance, argument.type, y);
    });
  });
}

}  // namespace smemtune
