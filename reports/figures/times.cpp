#include "reports/figures/each_figure.h"
#include "reports/figures/plot.h"
#include "tuner/core/text.h"

namespace smemtune {

Figure times_figure(const ReportSource& source, const db::StoredSection& section) {
  const std::vector<const db::StoredResult*> timed = by_time(section);
  if (timed.size() < 2) return std::nullopt;  // A single dot carries no information.
  Svg svg(kFigureWidth, 340,
          titled(source, section, "Every configuration's time, the fastest left."));
  const bool is_sample = section.results.size() < section.configurations;
  const std::string title =
      "rank" + (is_sample ? " (a sample of " + format_count(section.results.size()) + " of " +
                                format_count(section.configurations) + ")"
                          : std::string());
  const Plot plot(svg, {0, svg.top()}, kFigureWidth, 310,
                  {.title = title, .low = 0, .high = static_cast<double>(timed.size()) * 1.02},
                  Axis::times_over("time", times_ms(timed)));
  Spots spots;
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const Point at = plot.at(static_cast<double>(i + 1), median_ms(*timed[i]));
    if (spots.take(at)) svg.dot(at, 1.6, series_of(source, timed[i]->result.kernel));
  }
  svg.legend({70, svg.bottom() - 8}, kernels_of(source));
  return svg;
}

}  // namespace smemtune
