#include "reports/figures/replays.h"

#include "reports/figures/plot.h"

#include <algorithm>

namespace smemtune {
namespace {

constexpr double kWidth = 560;
constexpr double kHeight = 280;
constexpr double kLegendHeight = 20;
constexpr double kLowest = 0.5;  // Lower shares are drawn here: strategies differ above.

/// Returns no more points of a curve than can be told apart.
std::vector<Point> points(const Plot& plot, const std::vector<double>& curve) {
  std::vector<Point> points;
  const std::size_t step = 1 + curve.size() / 500;
  for (std::size_t i = 0; i < curve.size(); i += step) {
    points.push_back(plot.at(static_cast<double>(i + 1), std::max(curve[i], kLowest)));
  }
  return points;
}

}  // namespace

std::string replays_figure(std::span<const ReplayedRecording> recordings) {
  const double height = kLegendHeight + kHeight * static_cast<double>(recordings.size());
  Svg svg(kWidth, height,
          {.text = "Share of the optimum",
           .under_it = "mean over seeds, by how many were evaluated",
           .description =
               "How close each strategy is to the optimum after each number of evaluations."});
  std::vector<std::string> names;
  for (const auto& strategy : recordings.front().strategies) names.push_back(strategy.name);
  svg.legend({8, svg.top() + 12}, names);
  double top = svg.top() + kLegendHeight;
  for (const ReplayedRecording& recording : recordings) {
    svg.text({8, top + 14}, recording.name);
    const std::size_t evaluations = recording.strategies.front().statistics.curve.size();
    const Plot plot(svg, {0, top + 18}, kWidth, kHeight - 24,
                    {.title = "evaluations", .low = 0, .high = static_cast<double>(evaluations)},
                    {.title = "share of the optimum", .low = kLowest, .high = 1});
    for (std::size_t i = 0; i < recording.strategies.size(); ++i) {
      svg.line(points(plot, recording.strategies[i].statistics.curve), static_cast<int>(i));
    }
    top += kHeight;
  }
  return svg.str();
}

}  // namespace smemtune
