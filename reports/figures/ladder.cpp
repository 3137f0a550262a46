#include "reports/figures/each_figure.h"
#include "reports/problem_results.h"
#include "reports/table.h"

#include <algorithm>

namespace smemtune {

Figure ladder_figure(const ReportSource& source, const db::StoredSection& section) {
  if (section.best.empty()) return std::nullopt;
  constexpr double kRow = 30;
  constexpr double kBar = 13;
  constexpr double kFull = 320;
  const std::size_t rows = section.best.size();
  double label = 0;
  for (const db::StoredResult& one : section.best) {
    label = std::max(label, text_width(one.result.kernel));
  }
  Svg svg(kFigureWidth, kRow * static_cast<double>(rows) + 34,
          titled(source, section, "The speed of each kernel at its best and at its default."));
  const double left = 16 + label;
  const double fastest = median_ms(section.best.front());
  double y = svg.top() + 6;
  for (const db::StoredResult& one : section.best) {
    const double ms = median_ms(one);
    const double width = std::max(1.0, kFull * std::min(1.0, fastest / ms));
    svg.text({left - 6, y + 16}, one.result.kernel, Svg::Anchor::end);
    svg.bar({left, y}, width, kBar, 0, key(one.result.configuration));
    const std::string rate = rates(one.result);
    svg.text({left + width + 6, y + 11},
             format_time(ms) + (rate.empty() ? "" : ", " + rate.substr(0, rate.find(','))));
    if (const db::StoredResult* standard = default_of(source, section, one.result.kernel)) {
      svg.bar({left, y + kBar},
              std::max(1.0, kFull * std::min(1.0, fastest / median_ms(*standard))), 7, 7,
              key(standard->result.configuration) + ", " + format_time(median_ms(*standard)));
    }
    y += kRow;
  }
  svg.bar({left, y + 6}, 10, 10, 0);
  svg.text({left + 15, y + 15}, "best", Svg::Anchor::start, true);
  svg.bar({left + 60, y + 6}, 10, 10, 7);
  svg.text({left + 75, y + 15}, "default", Svg::Anchor::start, true);
  return svg;
}

}  // namespace smemtune
