#include "tuner/search/genetic.h"

#include <algorithm>

namespace smemtune {

namespace {

constexpr std::size_t kPopulation = 20;
constexpr double kMutation = 0.1;  // Probability for each parameter.
constexpr int kAttempts = 20;      // Attempts at a child that was not tried yet.

}  // namespace

std::optional<ConfigurationIndex> Genetic::ask() {
  if (first_asked_ < kPopulation) {
    ++first_asked_;
    return untried_.take_next();
  }
  for (int attempt = 0; attempt < kAttempts && population_.size() > 1; ++attempt) {
    const std::optional<ConfigurationIndex> found = repaired(child());
    if (found && untried_.take(*found)) return found;
  }
  return untried_.take_next();
}

void Genetic::tell(ConfigurationIndex configuration, std::optional<double> time_ms) {
  if (!time_ms) return;
  const Member member = {.configuration = configuration, .time_ms = *time_ms};
  const auto place = std::ranges::upper_bound(population_, member.time_ms, {}, &Member::time_ms);
  population_.insert(place, member);
  if (population_.size() > kPopulation) population_.pop_back();
}

/// Returns the faster of two random members.
const Genetic::Member& Genetic::parent() {
  const std::uint64_t one = below(random_, population_.size());
  const std::uint64_t other = below(random_, population_.size());
  return population_[static_cast<std::size_t>(std::min(one, other))];
}

std::vector<std::size_t> Genetic::child() {
  const SearchSpace& space = untried_.space();
  std::vector<std::size_t> values = space.value_indices(parent().configuration);
  const std::vector<std::size_t> others = space.value_indices(parent().configuration);
  const std::uint64_t point = below(random_, values.size() + 1);
  for (std::size_t i = static_cast<std::size_t>(point); i < values.size(); ++i) {
    values[i] = others[i];
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t count = space.parameters()[i].values.size();
    if (uniform(random_) < kMutation) values[i] = static_cast<std::size_t>(below(random_, count));
  }
  return values;
}

/// Returns the configuration with these values if it is valid and untried, else one next to it:
/// first one parameter by one step, then one parameter to any value.
std::optional<ConfigurationIndex> Genetic::repaired(std::vector<std::size_t> values) {
  const SearchSpace& space = untried_.space();
  const auto untried = [&]() -> std::optional<ConfigurationIndex> {
    const std::optional<ConfigurationIndex> found = space.index_of_values(values);
    return found && untried_.contains(*found) ? found : std::nullopt;
  };
  if (const auto found = untried()) return found;
  const auto first = static_cast<std::size_t>(below(random_, values.size()));
  for (const bool adjacent : {true, false}) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t p = (first + i) % values.size();
      const std::size_t own = values[p];
      for (std::size_t value = 0; value < space.parameters()[p].values.size(); ++value) {
        const std::size_t distance = value > own ? value - own : own - value;
        if (distance == 0 || (distance == 1) != adjacent) continue;
        values[p] = value;
        if (const auto found = untried()) return found;
      }
      values[p] = own;
    }
  }
  return std::nullopt;
}

}  // namespace smemtune
