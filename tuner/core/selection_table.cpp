#include "tuner/core/selection_table.h"

#include "tuner/core/selection.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace smemtune {

namespace {

/// The least times of rows, by device and problem, and by kernel.
class LeastTimes {
 public:
  using Place = std::pair<std::string, std::string>;

  void add(const Place& place, double time_ms) {
    if (!(time_ms > 0)) return;
    const auto [its, is_new] = ms_.try_emplace(place, time_ms);
    if (!is_new) its->second = std::min(its->second, time_ms);
  }

  /// Returns 0 where there is none.
  double at(const Place& place) const {
    const auto found = ms_.find(place);
    return found == ms_.end() ? 0 : found->second;
  }

 private:
  std::map<Place, double> ms_;
};

double to_default(double time_ms, double default_ms, double best_ms) {
  if (!(time_ms > 0)) return std::numeric_limits<double>::infinity();
  return time_ms / (default_ms > 0 ? default_ms : best_ms * kAssumedOfDefault);
}

}  // namespace

std::vector<SelectionRow> selection_table(std::vector<SelectionRow> rows) {
  LeastTimes bests;
  LeastTimes defaults;
  std::map<std::pair<std::string, std::string>, int> numbers;
  for (SelectionRow& row : rows) {
    bests.add({row.measured, ""}, row.time_ms);
    bests.add({row.measured, row.kernel}, row.time_ms);
    if (row.is_fallback) defaults.add({row.measured, ""}, row.time_ms);
    if (row.is_default) defaults.add({row.measured, row.kernel}, row.time_ms);
    const auto next = static_cast<int>(numbers.size());
    row.number = numbers.try_emplace({row.kernel, row.configuration}, next).first->second;
  }
  for (SelectionRow& row : rows) {
    const LeastTimes::Place all = {row.measured, ""};
    const LeastTimes::Place kernel = {row.measured, row.kernel};
    row.to_default = to_default(row.time_ms, defaults.at(all), bests.at(all));
    row.to_kernel_default = to_default(row.time_ms, defaults.at(kernel), bests.at(kernel));
  }
  std::ranges::stable_sort(rows, {}, &SelectionRow::number);
  return rows;
}

}  // namespace smemtune
