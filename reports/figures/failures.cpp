#include "reports/figures/each_figure.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <map>

namespace smemtune {

Figure failures_figure(const ReportSource& source, const db::StoredSection& section) {
  if (section.failures.empty()) return std::nullopt;
  std::map<std::string, std::uint64_t> reasons;
  for (const auto& [failure, count] : section.failures) {
    reasons[failure.status + (failure.reason.empty() ? "" : "/" + failure.reason)] += count;
  }
  std::vector<std::pair<std::string, std::uint64_t>> sorted(reasons.begin(), reasons.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto& one) { return one.second; });
  double left = 0;
  for (const auto& [reason, count] : sorted) left = std::max(left, text_width(reason));
  left += 16;
  constexpr double kRow = 24;
  constexpr double kRoom = 90;  // Space for the number after a bar.
  Svg svg(kFigureWidth, kRow * static_cast<double>(sorted.size()) + 14,
          titled(source, section, "How many configurations were rejected or failed, by reason."));
  const double full = kFigureWidth - left - kRoom;
  double y = svg.top() + 4;
  for (const auto& [reason, count] : sorted) {
    const double width = std::max(
        1.0, full * static_cast<double>(count) / static_cast<double>(sorted.front().second));
    svg.text({left - 6, y + 13}, reason, Svg::Anchor::end);
    svg.bar({left, y}, width, 17, 1);
    svg.text({left + width + 6, y + 13}, format_count(count));
    y += kRow;
  }
  return svg;
}

}  // namespace smemtune
