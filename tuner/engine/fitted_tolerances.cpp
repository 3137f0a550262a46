#include "tuner/engine/fitted_tolerances.h"

#include "tuner/backend/tolerances.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/hash.h"
#include "tuner/core/measurement.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace smemtune {
namespace {

constexpr std::int64_t kMostFitted = std::int64_t{1} << 24;  // 128 MB as doubles.
constexpr std::size_t kMostSizes = std::size_t{1} << 18;

/// Returns the absolute values, those of 0 left out, of the sum of the elements, or of the elements
/// themselves: of one from each of kMostSizes equal parts if there are more.
std::vector<double> sizes_of(const Argument& argument, const std::vector<double>& elements) {
  std::vector<double> sizes;
  const auto add = [&](double value) {
    if (value != 0) sizes.push_back(std::abs(value));
  };
  if (argument.compares_sum) {
    add(sum_of(elements));
  } else {
    const std::size_t parts = std::min(elements.size(), kMostSizes);
    for (std::size_t i = 0; i < parts; ++i) {
      const std::size_t begin = i * elements.size() / parts;
      const std::size_t end = (i + 1) * elements.size() / parts;
      add(elements[begin + random_bits(parts, i) % (end - begin)]);
    }
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

}  // namespace

Outcome<FittedTolerances> fitted_tolerances(Launcher& launcher, const Check& reference,
                                            const Workload& workload) {
  RunRequest request = {.workload = reference.workload,
                        .as_reference = true,
                        .tolerance = reference.tolerance,
                        .tolerances = reference.tolerances,
                        .download = {}};
  std::int64_t elements = 0;
  std::vector<const Argument*> outputs;
  for (const Argument& argument : workload.arguments) {
    if (!argument.is_result() || !is_floating(argument.type)) continue;
    elements += argument.elements();
    outputs.push_back(&argument);
    request.download.push_back(argument.name);
  }
  FittedTolerances fitted;
  if (outputs.empty() || elements > kMostFitted) return fitted;
  const auto after = run_reference(launcher, reference, request);
  if (!after) return after.failure();
  for (const Argument* output : outputs) {
    const auto found = after->find(output->name);
    if (found == after->end()) continue;
    fit(*output, sizes_of(*output, found->second), request.tolerance_of(output->name),
        reference.label, fitted);
  }
  return fitted;
}

}  // namespace smemtune
