#include "reports/figures/each_figure.h"

#include <algorithm>

namespace smemtune {
namespace {

constexpr std::size_t kMostLines = 300;  // More lines cannot be told apart.
constexpr double kValueHeight = 13;

/// How to draw the lines of configurations with at least this share of the best speed.
struct Band {
  double least_share;
  int series;
  double width;
  const char* name;
};

constexpr Band kBands[] = {{0.95, 1, 2, "within 5 % of the best"},
                           {0.8, 0, 1, "80 to 95 %"},
                           {0.5, Svg::kQuiet, 0.7, "50 to 80 %"},
                           {0, 7, 0.3, "below half of it"}};

const Band& band_of(double share) {
  return *std::ranges::find_if(kBands, [&](const Band& one) { return share >= one.least_share; });
}

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
  // The slowest come first, so that the fast ones are drawn on top.
  const std::size_t every = timed.size() / kMostLines + 1;
  for (std::size_t i = timed.size(); i-- > 0;) {
    if (i % every != 0) continue;
    std::vector<Point> points;
    for (std::size_t axis = 0; axis < parameters.size(); ++axis) {
      const std::string value = value_of(*timed[i], parameters[axis]);
      if (value.empty()) continue;
      points.push_back({60 + step * static_cast<double>(axis), y_of(axis, value)});
    }
    const Band& band = band_of(median_ms(*timed.front()) / median_ms(*timed[i]));
    svg.line(points, band.series, band.width);
  }
  for (std::size_t axis = 0; axis < parameters.size(); ++axis) {
    const double x = 60 + step * static_cast<double>(axis);
    svg.grid_line({x, low}, {x, low - height});
    double last = low + 2 * kValueHeight;
    for (const std::string& value : values[axis]) {
      const double y = y_of(axis, value);
      const bool is_highest = &value == &values[axis].back();
      if (last - y < kValueHeight || (!is_highest && y - (low - height) < kValueHeight)) continue;
      svg.text_on_lines({x + 4, y + 4}, value);
      last = y;
    }
    svg.text({x, low + (axis % 2 == 0 ? 18 : 33)}, parameters[axis], Svg::Anchor::middle, true);
  }
  double x = 60;
  for (const Band& band : kBands) {
    svg.line({{x, svg.bottom() - 13}, {x + 20, svg.bottom() - 13}}, band.series, band.width);
    svg.text({x + 26, svg.bottom() - 9}, band.name, Svg::Anchor::start, true);
    x += 46 + text_width(band.name);
  }
  return svg;
}

}  // namespace smemtune
