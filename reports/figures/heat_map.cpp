#include "reports/figures/each_figure.h"
#include "reports/table.h"

#include <algorithm>
#include <map>

namespace smemtune {
namespace {

/// Statistics of the configurations with one pair of values.
struct Cell {
  double best_ms = 0;  ///< 0 if none was timed.
  std::size_t tried = 0;
  std::size_t fit = 0;
  std::map<std::string, std::size_t> reasons;

  void add(const db::StoredResult& stored) {
    ++tried;
    if (stored.result.failed()) {
      ++reasons[stored.result.reason];
      return;
    }
    ++fit;
    if (!stored.result.timed()) return;
    best_ms = best_ms == 0 ? median_ms(stored) : std::min(best_ms, median_ms(stored));
  }

  std::string main_reason() const {
    const auto most =
        std::ranges::max_element(reasons, {}, [](const auto& entry) { return entry.second; });
    return most == reasons.end() ? "not timed" : most->first;
  }
};

}  // namespace

Figure heat_map_figure(const ReportSource& source, const db::StoredSection& section) {
  const std::string kernel = main_kernel(section);
  std::vector<const db::StoredResult*> all;
  for (const db::StoredResult& one : section.results) {
    if (one.result.kernel == kernel) all.push_back(&one);
  }
  const std::vector<std::string> parameters = parameters_by_effect(all);
  if (parameters.size() < 2) return std::nullopt;
  const std::string& across = parameters[0];
  const std::string& down = parameters[1];
  const std::vector<std::string> columns = values_of(all, across);
  const std::vector<std::string> rows = values_of(all, down);
  std::map<std::pair<std::string, std::string>, Cell> cells;
  for (const db::StoredResult* one : all) {
    cells[{value_of(*one, down), value_of(*one, across)}].add(*one);
  }
  const std::vector<const db::StoredResult*> timed = by_time(section, kernel);
  const bool dry = timed.empty();

  constexpr double kLeft = 90;
  constexpr double kHeight = 28;
  const double width =
      std::min(90.0, (kFigureWidth - kLeft - 10) / static_cast<double>(columns.size()));
  Svg svg(kFigureWidth, kHeight * static_cast<double>(rows.size()) + 60,
          titled(source, section,
                 dry ? "The share of configurations that fit, by two parameters."
                     : "The share of the best speed that two parameters' values reach together.",
                 kernel));
  svg.text({kLeft, svg.top() + 12},
           across + " across, " + down +
               " down: " + (dry ? "share that fits" : "best share of the optimum") +
               "; words say why there is none",
           Svg::Anchor::start, true);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    svg.text({kLeft + width * (static_cast<double>(column) + 0.5), svg.top() + 32}, columns[column],
             Svg::Anchor::middle);
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const double y = svg.top() + 38 + kHeight * static_cast<double>(row);
    svg.text({kLeft - 8, y + 18}, rows[row], Svg::Anchor::end);
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const Point corner = {kLeft + width * static_cast<double>(column), y};
      const auto cell = cells.find({rows[row], columns[column]});
      if (cell == cells.end()) continue;
      const Cell& its = cell->second;
      const double share = dry ? static_cast<double>(its.fit) / static_cast<double>(its.tried)
                           : its.best_ms > 0 ? median_ms(*timed.front()) / its.best_ms
                                             : 0;
      if (share > 0) {
        svg.cell(corner, width, kHeight, share, decimal(100 * share, 0) + " %",
                 dry ? "" : format_time(its.best_ms));
      } else {
        const std::string reason = its.main_reason();
        const auto room = static_cast<std::size_t>(width / 7);
        svg.text({corner.x + width / 2, y + 18},
                 reason.size() > room ? reason.substr(0, room - 1) + "…" : reason,
                 Svg::Anchor::middle, true);
      }
    }
  }
  return svg;
}

}  // namespace smemtune
