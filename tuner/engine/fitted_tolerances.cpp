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

}  // namespace

FittedTolerances fitted_tolerances(Launcher& launcher, const Check& reference,
                                   const Workload& workload) {
  FittedTolerances fitted;
  for (const Argument& argument : workload.arguments) {
    if (!argument.is_result() || !is_floating(argument.type)) continue;
    const auto own = reference.tolerances.find(argument.name);
    const Tolerance& given = own == reference.tolerances.end() ? reference.tolerance : own->second;
    fit(argument, sizes_of(argument, elements_of(launcher, reference.workload, argument)), given,
        reference.label, fitted);
  }
  return fitted;
}

}  // namespace smemtune
