#include "reports/figures/each_figure.h"
#include "reports/figures/plot.h"
#include "reports/problem_results.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

namespace smemtune {
namespace {

/// A property of a launch; NaN if it is unknown.
struct Quantity {
  const char* title;
  double (*of)(const LaunchResult&);
};

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

constexpr Quantity kQuantities[] = {
    {"registers per thread",
     [](const LaunchResult& one) {
       return one.resources.known() ? one.resources.registers_per_thread : kUnknown;
     }},
    {"shared memory of a block (KB)",
     [](const LaunchResult& one) { return static_cast<double>(one.shared_bytes()) / 1024; }},
    {"occupancy (%)", [](const LaunchResult& one) {
       return one.occupancy.percent > 0 ? one.occupancy.percent : kUnknown;
     }}};

using Results = std::vector<const db::StoredResult*>;

/// Returns the results for which the quantity is known.
Results known(const Results& results, const Quantity& quantity) {
  Results kept;
  std::ranges::copy_if(results, std::back_inserter(kept), [&](const db::StoredResult* one) {
    return !std::isnan(quantity.of(*tightest_launch(one->result)));
  });
  return kept;
}

}  // namespace

Figure resources_figure(const ReportSource& source, const db::StoredSection& section) {
  const bool dry = is_dry(section);
  Results all;
  for (const db::StoredResult& one : section.results) {
    const bool counts = dry ? !one.result.failed() : one.result.timed();
    if (counts && tightest_launch(one.result) != nullptr) all.push_back(&one);
  }
  if (dry) all = known(all, kQuantities[2]);
  if (all.size() < 2) return std::nullopt;
  std::vector<Quantity> panels;
  for (const Quantity& quantity : std::span(kQuantities).first(dry ? 2 : 3)) {
    if (!known(all, quantity).empty()) panels.push_back(quantity);
  }
  const double width = kFigureWidth / static_cast<double>(panels.size());
  Svg svg(kFigureWidth, 300,
          titled(source, section,
                 dry ? "Occupancy against registers and shared memory."
                     : "Time against registers, shared memory and occupancy."));
  for (std::size_t panel = 0; panel < panels.size(); ++panel) {
    const Quantity& quantity = panels[panel];
    const Results shown = known(all, quantity);
    std::vector<double> values;
    for (const db::StoredResult* one : shown)
      values.push_back(quantity.of(*tightest_launch(one->result)));
    const Plot plot(svg, {width * static_cast<double>(panel), svg.top()}, width, 270,
                    Axis::over(quantity.title, values, /*from_zero=*/true),
                    dry ? Axis{.title = "occupancy (%)", .low = 0, .high = 104}
                        : Axis::times_over("time", times_ms(shown)));
    Spots spots;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const double y =
          dry ? tightest_launch(shown[i]->result)->occupancy.percent : median_ms(*shown[i]);
      const Point at = plot.at(values[i], y);
      if (spots.take(at)) svg.dot(at, 1.8, series_of(source, shown[i]->result.kernel));
    }
  }
  svg.legend({70, svg.bottom() - 8}, kernels_of(source));
  return svg;
}

}  // namespace smemtune
