#include "tuner/engine/output_classes.h"

#include "tuner/backend/tolerances.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace smemtune {

namespace {

constexpr std::int64_t kMostElements = 1 << 24;  // In all results: 128 MB while they are compared.
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
  RunRequest request = {.workload = check.workload,
                        .tolerance = check.tolerance,
                        .tolerances = check.tolerances,
                        .download = {}};
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
    const auto own = check.tolerances.find(argument.name);
    const Tolerance tolerance =
        tolerance_for(own == check.tolerances.end() ? check.tolerance : own->second, argument.type);
    // Written so that NaN agrees with nothing.
    return std::ranges::equal(a.at(argument.name), b.at(argument.name), [&](double x, double y) {
      return x == y || std::abs(x - y) <= allowed_error(tolerance, argument.type, y);
    });
  });
}

}  // namespace smemtune
