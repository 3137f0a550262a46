#include "tuner/core/selection_table.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace smemtune {

std::vector<SelectionRow> selection_table(std::vector<SelectionRow> rows) {
  std::map<std::pair<std::string, std::string>, double>
      least_ms;  // Keys: measured text and kernel.
  std::map<std::pair<std::string, std::string>, int> numbers;
  for (SelectionRow& row : rows) {
    for (const std::string& kernel : {std::string(), row.kernel}) {
      if (!(row.time_ms > 0)) break;
      double& least = least_ms.try_emplace({row.measured, kernel}, row.time_ms).first->second;
      least = std::min(least, row.time_ms);
    }
    const auto next = static_cast<int>(numbers.size());
    row.number = numbers.try_emplace({row.kernel, row.configuration}, next).first->second;
  }
  for (SelectionRow& row : rows) {
    const auto by_least = [&](const std::string& kernel) {
      return row.time_ms > 0 ? row.time_ms / least_ms[{row.measured, kernel}]
                             : std::numeric_limits<double>::infinity();
    };
    row.to_best = by_least("");
    row.to_kernel_best = by_least(row.kernel);
  }
  std::ranges::stable_sort(rows, {}, &SelectionRow::number);
  return rows;
}

}  // namespace smemtune
