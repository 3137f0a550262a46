#include "reports/devices_side_by_side.h"
#include "reports/figures/each_figure.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace smemtune {

Figure devices_figure(const db::Comparison& devices) {
  const nlohmann::ordered_json problems = devices_json(devices);
  if (problems.empty()) return std::nullopt;
  constexpr double kRow = 28;
  double left = 0;
  double height = 0;
  for (const auto& one : problems) {
    height += kRow * static_cast<double>(one["winners"].size()) + 48;
    for (const auto& winner : one["winners"]) {
      left = std::max(left, text_width(winner["device"].get<std::string>()) + 30);
    }
  }
  Svg svg(kFigureWidth, height,
          {.text = devices.rows.front().space + ": what each device's best reaches on the others",
           .under_it = "rows' best on the columns' device, as a share of its own best",
           .description = "Shares of each device's own best speed."});
  double y = svg.top();
  for (const auto& one : problems) {
    const auto& winners = one["winners"];
    const double width =
        std::min(80.0, (kFigureWidth - left - 10) / static_cast<double>(winners.size()));
    svg.text({8, y + 14}, one["problem"].get<std::string>(), Svg::Anchor::start, true);
    for (std::size_t i = 0; i < winners.size(); ++i) {
      const double across = static_cast<double>(i);
      const std::string number = std::to_string(i + 1);
      svg.text({left + width * (across + 0.5), y + 34}, number, Svg::Anchor::middle);
      svg.text({left - 8, y + 40 + kRow * across + 18},
               number + " " + winners[i]["device"].get<std::string>(), Svg::Anchor::end);
      for (std::size_t j = 0; j < winners.size(); ++j) {
        const auto& share = one["shares"][i][j];
        const Point corner = {left + width * static_cast<double>(j), y + 40 + kRow * across};
        if (share.is_number()) {
          svg.cell(corner, width, kRow, share.get<double>(), percent_text(share.get<double>()));
        } else {
          svg.text({corner.x + width / 2, corner.y + 18}, share.is_null() ? "·" : "fails",
                   Svg::Anchor::middle, true);
        }
      }
    }
    y += kRow * static_cast<double>(winners.size()) + 48;
  }
  return svg;
}

}  // namespace smemtune
