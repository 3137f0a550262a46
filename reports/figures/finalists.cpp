#include "reports/figures/each_figure.h"
#include "reports/figures/plot.h"

#include <algorithm>
#include <cmath>

namespace smemtune {
namespace {

constexpr std::size_t kMost = 12;
constexpr std::size_t kSamples = 120;

}  // namespace

Figure finalists_figure(const ReportSource& source, const db::StoredSection& section) {
  std::vector<const db::StoredResult*> finalists = by_time(section);
  std::erase_if(finalists,
                [](const db::StoredResult* one) { return one->result.stage != Stage::final; });
  if (finalists.empty()) return std::nullopt;
  finalists.resize(std::min(finalists.size(), kMost));
  std::vector<double> reach;
  for (const db::StoredResult* one : finalists) {
    const Measurement& times = one->result.measurement;
    reach.insert(reach.end(),
                 {times.median_low_ms, times.median_high_ms, times.q1_ms, times.q3_ms});
    // Single slow samples may lie outside the plot, so that the others can be told apart.
    if (times.samples_ms.size() > 4) {
      reach.insert(reach.end(),
                   {quantile(times.samples_ms, 0.02), quantile(times.samples_ms, 0.95)});
    }
  }
  std::erase_if(reach, [](double ms) { return ms <= 0; });
  const auto rows = static_cast<double>(finalists.size());
  Svg svg(kFigureWidth, 44 * rows + 60,
          titled(source, section,
                 "The finalists' samples and the 95 % confidence intervals of their medians."));
  Axis time = Axis::times_over("time; line: 95 % interval of the median, dots: samples", reach);
  time.logarithmic = false;
  const Axis exact = Axis::over(time.title, reach);
  time.low = exact.low;
  time.high = exact.high;
  Axis none{.title = "", .low = rows, .high = 0, .text = [](double) { return std::string(); }};
  const Plot plot(svg, {-40, svg.top()}, kFigureWidth + 40, 44 * rows + 50, time, none);
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const Result& result = finalists[i]->result;
    const Measurement& times = result.measurement;
    const double row = static_cast<double>(i);
    svg.text({plot.at(time.low, row).x + 4, plot.at(time.low, row + 0.32).y},
             result.kernel + " " + key(result.configuration), Svg::Anchor::start, true);
    const std::size_t every = times.samples_ms.size() / kSamples + 1;
    for (std::size_t j = 0; j < times.samples_ms.size(); j += every) {
      const double ms = times.samples_ms[j];
      if (ms < time.low || ms > time.high) continue;
      const double spread = 0.15 * std::fmod(static_cast<double>(j) * 0.618, 1.0);
      svg.dot(plot.at(ms, row + 0.78 + spread), 1.4, 7);
    }
    svg.line({plot.at(times.median_low_ms, row + 0.58), plot.at(times.median_high_ms, row + 0.58)},
             0, 5);
    svg.dot(plot.at(times.median_ms, row + 0.58), 4, 0);
  }
  return svg;
}

}  // namespace smemtune
