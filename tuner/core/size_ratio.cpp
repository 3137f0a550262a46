#include "tuner/core/size_ratio.h"

#include "tuner/core/selection.h"

namespace smemtune {

double size_ratio(const Problem& one, const Problem& other) {
  if (one.size() != other.size()) return 0;
  double ratio = 1;
  auto its = other.begin();  // Both are sorted by name.
  for (const auto& [name, value] : one) {
    const auto& [other_name, other_value] = *its++;
    if (name != other_name || value.index() != other_value.index()) return 0;
    if (std::holds_alternative<std::string>(value)) {
      if (value != other_value) return 0;
    } else {
      ratio = times_ratio(
          ratio, size_ratio(std::get<std::int64_t>(value), std::get<std::int64_t>(other_value)));
    }
  }
  return ratio;
}

}  // namespace smemtune
