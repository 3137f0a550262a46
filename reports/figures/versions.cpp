#include "reports/figures/each_figure.h"
#include "reports/figures/plot.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cmath>

namespace smemtune {

Figure versions_figure(const VersionDiff& diff) {
  std::vector<const VersionPair*> judged;
  std::vector<double> reach = {-diff.tolerance_percent, diff.tolerance_percent};
  for (const VersionPair& pair : diff.pairs) {
    if (!pair.slower) continue;
    judged.push_back(&pair);
    for (const double end :
         {pair.slower->low_percent, pair.slower->percent, pair.slower->high_percent}) {
      if (std::isfinite(end)) reach.push_back(end);
    }
  }
  if (judged.empty()) return std::nullopt;
  const auto rows = static_cast<double>(judged.size());
  Svg svg(kFigureWidth, 40 * rows + 60,
          {.text = diff.space + " on " + diff.device,
           .under_it = diff.old_name + " -> " + diff.new_name,
           .description =
               "How much slower each pair of the new version is than of the old, with intervals."});
  Axis slower =
      Axis::over("slower by, in % (left is faster; between the lines is tolerated)", reach);
  Axis none{.title = "", .low = rows, .high = 0, .text = [](double) { return std::string(); }};
  const Plot plot(svg, {-40, svg.top()}, kFigureWidth + 40, 40 * rows + 50, slower, none);
  for (const double edge : {-diff.tolerance_percent, diff.tolerance_percent}) {
    svg.line({plot.at(edge, 0), plot.at(edge, rows)}, Svg::kQuiet, 1);
  }
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const VersionPair& pair = *judged[i];
    const double row = static_cast<double>(i);
    svg.text({plot.at(slower.low, row).x + 4, plot.at(0, row + 0.35).y},
             key(pair.problem) + ": " + pair.what, Svg::Anchor::start, true);
    const int series = pair.is_loss(diff.tolerance_percent) ? 1 : 0;
    const double low = std::max(pair.slower->low_percent, slower.low);
    const double high = std::min(pair.slower->high_percent, slower.high);
    svg.line({plot.at(low, row + 0.68), plot.at(high, row + 0.68)}, series, 5);
    svg.dot(plot.at(pair.slower->percent, row + 0.68), 4.5, series,
            decimal(pair.slower->percent, 2) + " % slower");
  }
  return svg;
}

}  // namespace smemtune
