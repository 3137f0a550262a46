#include "tuner/core/size_ratio.h"

#include "tuner/core/expression.h"
#include "tuner/core/selection.h"

namespace smemtune {

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
