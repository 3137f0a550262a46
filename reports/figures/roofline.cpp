#include "tuner/core/roofline.h"

#include "reports/figures/each_figure.h"
#include "reports/figures/plot.h"
#include "reports/problem_results.h"

#include <algorithm>

namespace smemtune {

Figure roofline_figure(const ReportSource& source, const db::StoredSection& section) {
  const Roofline roof = roofline(section.device);
  std::vector<const db::StoredResult*> shown;
  std::vector<double> intensities;
  std::vector<double> rates;
  for (const db::StoredResult* one : by_time(section)) {
    const double flops = metric(one->result, "flops");
    const double bytes = metric(one->result, "bytes");
    if (flops <= 0 || bytes <= 0) continue;
    shown.push_back(one);
    intensities.push_back(flops / bytes);
    rates.push_back(flops / median_ms(*one) / 1e9);  // TFLOP/s from operations and ms.
  }
  if (shown.empty() || roof.flops_per_s <= 0 || roof.bytes_per_s <= 0) return std::nullopt;
  const double knee = roof.flops_per_s / roof.bytes_per_s;
  std::vector<double> reach = intensities;
  reach.insert(reach.end(), {knee / 8, knee * 8});
  const double low = *std::ranges::min_element(reach);
  const double high = *std::ranges::max_element(reach);
  const auto roof_at = [&](double intensity) {
    return std::min(roof.flops_per_s, roof.bytes_per_s * intensity) / 1e12;
  };
  std::vector<double> heights = rates;
  heights.insert(heights.end(), {roof_at(low), roof_at(high)});
  Svg svg(
      kFigureWidth, 340,
      titled(source, section,
             "Single-precision work per second against work per byte, under the device's roof."));
  const Plot plot(svg, {0, svg.top()}, kFigureWidth, 310, Axis::log_over("FLOP per byte", reach),
                  Axis::log_over("TFLOP/s", heights));
  svg.line({plot.at(low, roof_at(low)), plot.at(knee, roof_at(knee)), plot.at(high, roof_at(high))},
           Svg::kQuiet, 2);
  Spots spots;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Point at = plot.at(intensities[i], rates[i]);
    if (spots.take(at)) svg.dot(at, 2.2, series_of(source, shown[i]->result.kernel));
  }
  svg.legend({70, svg.bottom() - 8}, kernels_of(source));
  return svg;
}

}  // namespace smemtune
