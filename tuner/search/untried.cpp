#include "tuner/search/untried.h"

namespace smemtune {

Untried::Untried(const SearchSpace& space, std::uint64_t seed)
    : space_(&space), order_(space.size(), seed), random_(seed) {}

std::optional<ConfigurationIndex> Untried::take_next() {
  if (!space_->is_listed()) {
    const std::optional<ConfigurationIndex> drawn = draw(random_);
    if (drawn) take(*drawn);
    return drawn;
  }
  while (position_ < space_->size()) {
    const ConfigurationIndex configuration = order_(position_++);
    if (take(configuration)) return configuration;
  }
  return std::nullopt;
}

std::optional<ConfigurationIndex> Untried::draw(RandomEngine& random) const {
  constexpr int kAttempts = 20;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::optional<ConfigurationIndex> configuration = space_->draw(random);
    if (!configuration) break;
    if (contains(*configuration)) return configuration;
  }
  return std::nullopt;
}

std::vector<ConfigurationIndex> Untried::neighbors(ConfigurationIndex configuration) const {
  std::vector<ConfigurationIndex> neighbors = space_->neighbors(configuration);
  std::erase_if(neighbors, [&](ConfigurationIndex one) { return !contains(one); });
  return neighbors;
}

}  // namespace smemtune
