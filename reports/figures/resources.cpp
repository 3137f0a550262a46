#include "reports/figures/each_figure.h"
#include "reports/figures/plot.h"
#include "reports/problem_results.h"

namespace smemtune {
namespace {

struct Quantity {
  const char* title;
  double (*of)(const LaunchResult&);
};

constexpr Quantity kQuantities[] = {
    {"registers per thread",
     [](const LaunchResult& one) -> double { return one.resources.registers_per_thread; }},
    {"shared memory of a block (KB)",
     [](const LaunchResult& one) { return static_cast<double>(one.shared_bytes()) / 1024; }},
    {"occupancy (%)", [](const LaunchResult& one) { return one.occupancy.percent; }}};

}  // namespace

Figure resources_figure(const ReportSource& source, const db::StoredSection& section) {
  const bool dry = is_dry(section);
  std::vector<const db::StoredResult*> shown;
  for (const db::StoredResult& one : section.results) {
    const bool counts = dry ? !one.result.failed() : one.result.timed();
    if (counts && tightest_launch(one.result) != nullptr) shown.push_back(&one);
  }
  if (shown.size() < 2) return std::nullopt;
  const std::size_t panels = dry ? 2 : 3;
  const double width = kFigureWidth / static_cast<double>(panels);
  Svg svg(kFigureWidth, 300,
          titled(source, section,
                 dry ? "Occupancy against registers and shared memory."
                     : "Time against registers, shared memory and occupancy."));
  for (std::size_t panel = 0; panel < panels; ++panel) {
    const Quantity& quantity = kQuantities[panel];
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
