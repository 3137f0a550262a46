#include "reports/figures/each_figure.h"

#include <algorithm>

namespace smemtune {
namespace {

constexpr std::size_t kMostLines = 300;  // More than these nobody tells apart.

}  // namespace

Figure parallel_figure(const ReportSource& source, const db::StoredSection& section) {
  const std::string kernel = main_kernel(section);
  const std::vector<const db::StoredResult*> timed = by_time(section, kernel);
  const std::vector<std::string> parameters = parameters_by_effect(timed);
  if (timed.size() < 2 || parameters.size() < 2) return std::nullopt;
  Svg svg(
      kFigureWidth, 330,
      titled(source, section,
             "A line for each configuration through its values, colored by its share of the best "
             "speed.",
             kernel));
  const double low = svg.top() + 265;
  const double height = 235;
  const double step = (kFigureWidth - 120) / static_cast<double>(parameters.size() - 1);
  std::vector<std::vector<std::string>> values;
  for (const std::string& parameter : parameters) values.push_back(values_of(timed, parameter));
  const auto y_of = [&](std::size_t axis, const std::string& value) {
    const auto place = std::ranges::find(values[axis], value) - values[axis].begin();
    const auto last = static_cast<double>(std::max<std::size_t>(values[axis].size() - 1, 1));
    return low - height * static_cast<double>(place) / last;
  };
  // The slowest first, so that the fast lie on top.
  const std::size_t every = timed.size() / kMostLines + 1;
  for (std::size_t i = timed.size(); i-- > 0;) {
    if (i % every != 0) continue;
    std::vector<Point> points;
    for (std::size_t axis = 0; axis < parameters.size(); ++axis) {
      const std::string value = value_of(*timed[i], parameters[axis]);
      if (value.empty()) continue;
      points.push_back({60 + step * static_cast<double>(axis), y_of(axis, value)});
    }
    svg.line_of_share(points, median_ms(*timed.front()) / median_ms(*timed[i]));
  }
  for (std::size_t axis = 0; axis < parameters.size(); ++axis) {
    const double x = 60 + step * static_cast<double>(axis);
    svg.grid_line({x, low}, {x, low - height});
    for (const std::string& value : values[axis]) svg.text({x + 4, y_of(axis, value) + 4}, value);
    svg.text({x, low + (axis % 2 == 0 ? 18 : 33)}, parameters[axis], Svg::Anchor::middle, true);
  }
  for (const double share : {0.2, 0.4, 0.6, 0.8, 1.0}) {
    svg.cell({60 + 60 * (share * 5 - 1), svg.bottom() - 22}, 60, 18, share, percent_text(share));
  }
  svg.text({370, svg.bottom() - 9}, "of the best speed", Svg::Anchor::start, true);
  return svg;
}

}  // namespace smemtune
