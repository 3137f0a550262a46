#include "reports/figures/each_figure.h"
#include "reports/figures/plot.h"

#include <cmath>

namespace smemtune {
namespace {

/// Returns the corners of a step function.
std::vector<Point> stair(const Plot& plot, const std::vector<std::pair<double, double>>& steps) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0) points.push_back(plot.at(steps[i].first, steps[i - 1].second));
    points.push_back(plot.at(steps[i].first, steps[i].second));
  }
  return points;
}

}  // namespace

Figure convergence_figure(const ReportSource& source, const db::StoredSection& section) {
  const auto& all = section.convergence;
  if (all.size() < 2 || all.back().evaluations < 2) return std::nullopt;
  const bool has_seconds = !std::isnan(all.back().seconds);
  std::vector<std::pair<double, double>> by_evaluations;
  std::vector<std::pair<double, double>> by_seconds;
  std::vector<double> ms;
  for (const db::StoredSection::Step& step : all) {
    by_evaluations.emplace_back(static_cast<double>(step.evaluations), step.best_ms);
    by_seconds.emplace_back(step.seconds, step.best_ms);
    ms.push_back(step.best_ms);
  }
  Svg svg(kFigureWidth, 280,
          titled(source, section,
                 has_seconds ? "The best time so far, against evaluations and against seconds."
                             : "The best time so far, against evaluations."));
  const auto draw = [&](double x, const char* title, const auto& steps) {
    const Plot plot(svg, {x, svg.top()}, kFigureWidth / (has_seconds ? 2 : 1), 275,
                    Axis::over(title, {steps.back().first}, /*from_zero=*/true),
                    Axis::times_over("best so far", ms));
    svg.line(stair(plot, steps), 0, 2);
  };
  draw(0, "evaluations", by_evaluations);
  if (has_seconds) draw(kFigureWidth / 2, "seconds", by_seconds);
  return svg;
}

}  // namespace smemtune
