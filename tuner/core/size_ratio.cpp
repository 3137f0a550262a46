#include "tuner/core/size_ratio.h"

#include "tuner/core/selection.h"

namespace smemtune {

double size_ratio(const Problem& one, const Problem& other) {
  if (one.size() != other.size()) return 0;
  double ratio = 1;
  for (const auto& [name, value] : one) {
    const auto found = other.find(name);
    if (found == other.end() || found->second.index() != value.index()) return 0;
    if (std::holds_alternative<std::string>(value)) {
      if (value != found->second) return 0;
    } else {
      ratio = times_ratio(
          ratio, size_ratio(std::get<std::int64_t>(value), std::get<std::int64_t>(found->second)));
    }
  }
  return ratio;
}

}  // namespace smemtune
