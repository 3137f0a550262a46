#include "tuner/core/selection_table.h"

#include "tuner/core/expression.h"
#include "tuner/core/selection.h"

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

namespace {

/// Returns the size of the type that a word names; 0 for a word that is no type.
long long bytes_of(const Value& word) {
  return static_cast<long long>(type_size(std::get<std::string>(word)).value_or(0));
}

}  // namespace

double size_ratio(const Problem& one, const Problem& other) {
  if (one.size() != other.size()) return 0;
  double ratio = 1;
  auto its = other.begin();  // Both are sorted by name.
  for (const auto& [name, value] : one) {
    const auto& [other_name, other_value] = *its++;
    if (name != other_name || value.index() != other_value.index()) return 0;
    if (value == other_value) continue;
    const double more =
        std::holds_alternative<std::string>(value)
            ? type_ratio(bytes_of(value), bytes_of(other_value))
            : size_ratio(std::get<std::int64_t>(value), std::get<std::int64_t>(other_value));
    ratio = times_ratio(ratio, more);
  }
  return ratio;
}

}  // namespace smemtune
