#include "reports/figures/each_figure.h"
#include "tuner/core/measurement.h"

#include <algorithm>
#include <map>

namespace smemtune {
namespace {

constexpr double kPanelWidth = 350;
constexpr double kPanelHeight = 130;

/// The times measured with each value of one parameter.
using TimesByValue = std::map<std::string, std::vector<double>, decltype(&value_before)>;

void draw_panel(Svg& svg, Point corner, const std::string& parameter, const TimesByValue& times,
                double best_ms) {
  svg.text({corner.x + 10, corner.y + 14}, parameter);
  const double bottom = corner.y + kPanelHeight - 22;
  const double height = kPanelHeight - 46;
  for (const double share : {0.5, 1.0}) {
    const double y = bottom - height * share;
    svg.grid_line({corner.x + 54, y}, {corner.x + kPanelWidth - 6, y});
    svg.text({corner.x + 50, y + 4}, percent_text(share), Svg::Anchor::end, true);
  }
  const double group = (kPanelWidth - 60) / static_cast<double>(times.size());
  double x = corner.x + 54;
  double labelled = 0;  // Right end of the last label.
  for (const auto& [value, ms] : times) {
    const double best = best_ms / *std::ranges::min_element(ms);
    const double median = best_ms / quantile(ms, 0.5);
    const double bar = std::min(group * 0.38, 26.0);
    const double left = x + group / 2 - bar;
    svg.bar({left, bottom - height * best}, bar, height * best, 0,
            value + ": best " + percent_text(best));
    svg.bar({left + bar, bottom - height * median}, bar, height * median, 1,
            value + ": median " + percent_text(median));
    if (x + group / 2 - text_width(value) / 2 > labelled) {
      svg.text({x + group / 2, bottom + 15}, value, Svg::Anchor::middle, true);
      labelled = x + group / 2 + text_width(value) / 2 + 3;
    }
    x += group;
  }
}

}  // namespace

Figure values_figure(const ReportSource& source, const db::StoredSection& section) {
  const std::string kernel = main_kernel(section);
  const std::vector<const db::StoredResult*> timed = by_time(section, kernel);
  const std::vector<std::string> parameters = parameters_by_effect(timed);
  if (timed.size() < 2 || parameters.empty()) return std::nullopt;
  const std::size_t rows = (parameters.size() + 1) / 2;  // Each row has two panels.
  Svg svg(kFigureWidth, kPanelHeight * static_cast<double>(rows) + 24,
          titled(source, section,
                 "The share of the best speed that each value of each parameter reaches.", kernel));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    TimesByValue times(value_before);
    for (const db::StoredResult* one : timed) {
      const std::string value = value_of(*one, parameters[i]);
      if (!value.empty()) times[value].push_back(median_ms(*one));
    }
    const std::size_t row = i / 2;
    draw_panel(
        svg,
        {i % 2 == 0 ? 0 : kFigureWidth / 2, svg.top() + kPanelHeight * static_cast<double>(row)},
        parameters[i], times, median_ms(*timed.front()));
  }
  svg.legend({54, svg.bottom() - 8}, {"best with the value", "median with the value"});
  return svg;
}

}  // namespace smemtune
